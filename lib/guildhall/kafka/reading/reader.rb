# frozen_string_literal: true

require_relative "../connection/librdkafka"
require_relative "read_error"
begin
  require "guildhall/kafka/native"
rescue LoadError => error
  raise Guildhall::MissingDependencyError, "Kafka needs the extension of the gem guildhall-kafka (#{error.message}): " \
                                           "run `gem pristine guildhall-kafka`, or `bin/setup` in a checkout"
end

module Guildhall
  module Kafka
    # Takes messages from librdkafka's queues.
    module Reading
      # Takes messages without the GVL, and decodes them where the codec can do that in C (`ext/guildhall_kafka/reader.c`).
      class Reader
        def self.for(client)
          client.with_handle { |handle| new(handle.address, Connection::Librdkafka.addresses) }
        end
      end
    end
  end
end
