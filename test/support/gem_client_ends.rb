# frozen_string_literal: true

require "rdkafka"

# The gem's clients that tests use are destroyed without the GVL. The gem holds it, and librdkafka's background thread may just have an answer
# of a broker's for the gem, which needs the GVL: the process would wait for itself, and never end.
module Rdkafka
  module Bindings
    singleton_class.remove_method(:rd_kafka_destroy)
    remove_method(:rd_kafka_destroy)
    attach_function :rd_kafka_destroy, [:pointer], :void, blocking: true
  end
end
