# frozen_string_literal: true

require_relative "../connection/librdkafka"

module Guildhall
  module Kafka
    module Reading
      # What a reader got in a message's place: an error of librdkafka's, or the end of a partition.
      ReadError = Data.define(:code, :message, :topic, :partition, :offset) do
        def end_of_partition?
          code == Connection::Librdkafka::PARTITION_EOF
        end

        # @return [Boolean] whether the client does nothing more
        def fatal?
          code == Connection::Librdkafka::FATAL
        end

        # @return [Boolean] whether the broker knows no such topic: it was deleted
        def unknown_topic?
          code == Connection::Librdkafka::UNKNOWN_TOPIC_OR_PART
        end

        # @return [Boolean] whether the broker does not let this partition be read
        def denied?
          code == Connection::Librdkafka::TOPIC_AUTHORIZATION_FAILED
        end

        # @return [String] such as "_TRANSPORT"
        def name
          Broker::Errors.name_of(code)
        end
      end
    end
  end
end
