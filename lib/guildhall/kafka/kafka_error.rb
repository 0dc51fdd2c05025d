# frozen_string_literal: true

module Guildhall
  module Kafka
    # An error of librdkafka's that no call of ours caused, such as a broker that cannot be reached.
    class KafkaError < Error
      # @return [Integer] librdkafka's number
      attr_reader :code
      # @return [String] librdkafka's name, such as "_ALL_BROKERS_DOWN"
      attr_reader :code_name

      # @param read [ReadError]
      # @return [KafkaError]
      def self.from(read)
        new(read.code, read.name, read.message)
      end

      # @param code [Integer]
      # @param code_name [String]
      # @param text [String, nil]
      def initialize(code, code_name, text)
        super([code_name, text].compact.join(": "))
        @code = code
        @code_name = code_name
      end
    end
  end
end
