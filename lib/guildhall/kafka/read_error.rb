# frozen_string_literal: true

require_relative "librdkafka"

module Guildhall
  module Kafka
    # What a reader got in a message's place: an error of librdkafka's, or the end of a partition.
    ReadError = Data.define(:code, :message, :topic, :partition, :offset) do
      # @param native [Rdkafka::Bindings::Message]
      # @return [ReadError]
      def self.from(native)
        topic = native[:rkt].null? ? nil : Rdkafka::Bindings.rd_kafka_topic_name(native[:rkt])
        text = native[:payload].null? ? nil : native[:payload].read_string(native[:len])
        new(code: native[:err], message: text, topic:, partition: native[:partition], offset: native[:offset])
      end

      # @return [Boolean]
      def end_of_partition?
        code == Librdkafka::PARTITION_EOF
      end

      # @return [Boolean] whether the client does nothing more
      def fatal?
        code == Librdkafka::FATAL
      end

      # @return [Boolean] whether the broker knows no such topic: it was deleted
      def unknown_topic?
        code == Librdkafka::UNKNOWN_TOPIC_OR_PART
      end

      # @return [String] such as "_TRANSPORT"
      def name
        Librdkafka.error_name(code)
      end
    end
  end
end
