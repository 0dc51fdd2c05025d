# frozen_string_literal: true

require_relative "testing/embedded_broker"

module Guildhall
  module Kafka
    # What the tests of an application need. Not loaded by `guildhall/kafka`.
    module Testing
    end
  end
end
