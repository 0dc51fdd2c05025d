# frozen_string_literal: true

require "guildhall/extension"
require_relative "broker/librdkafka"

module Guildhall
  module Kafka
    # Takes messages from librdkafka's queues.
    # @api private
    module Reading
      # An error of librdkafka's, or the end of a partition, which the reader got instead of a message. The extension makes it.
      ReadError = Data.define(:code, :message, :topic, :partition, :offset) do
        def end_of_partition? = code == Broker::Librdkafka::PARTITION_EOF

        # The client does nothing more.
        def fatal? = code == Broker::Librdkafka::FATAL

        # The broker knows no such topic: it was deleted.
        def unknown_topic? = code == Broker::Librdkafka::UNKNOWN_TOPIC_OR_PART

        # The broker does not let this partition be read.
        def denied? = code == Broker::Librdkafka::TOPIC_AUTHORIZATION_FAILED
        def name = Broker::Errors.name_of(code)
      end
    end
  end
end

begin
  Guildhall::Extension.load("guildhall-kafka", __dir__)
rescue LoadError => error
  raise Guildhall::MissingDependencyError, error.message
end

module Guildhall
  module Kafka
    module Reading
      # Takes messages without the GVL, and decodes them where the codec can do that in C (`ext/guildhall_kafka/reader.c`).
      class Reader
        # The functions that it calls, in the order of its struct (`ext/guildhall_kafka/librdkafka.h`).
        FUNCTIONS = %w[
          rd_kafka_consume_batch_queue rd_kafka_message_destroy rd_kafka_message_timestamp rd_kafka_message_headers
          rd_kafka_header_get_all rd_kafka_topic_name rd_kafka_message_errstr rd_kafka_queue_get_consumer
          rd_kafka_queue_get_partition rd_kafka_queue_forward rd_kafka_queue_destroy rd_kafka_queue_cb_event_enable
        ].freeze

        def self.for(client)
          client.with_handle { |handle| new(handle.address, Broker::Librdkafka.addresses(FUNCTIONS)) }
        end
      end
    end
  end
end
