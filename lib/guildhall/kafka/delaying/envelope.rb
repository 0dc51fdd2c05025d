# frozen_string_literal: true

require "guildhall/digits"

module Guildhall
  module Kafka
    module Delaying
      # The headers of a message that waits: when it is due, and where it goes then.
      module Envelope
        DUE = "delay_until" # milliseconds since 1970
        TOPIC = "delay_topic"
        PARTITION = "delay_partition"
        HEADERS = [DUE, TOPIC, PARTITION].freeze
        private_constant :DUE, :TOPIC, :PARTITION, :HEADERS

        # @param due [Numeric] seconds since 1970
        # @param partition [Integer, nil] nil: the partitioner decides
        def self.headers(due, topic, partition)
          {DUE => (due * 1000).round.to_s, TOPIC => topic, **(partition ? {PARTITION => partition.to_s} : {})}
        end

        # @return [Float, nil] seconds since 1970; nil: it says nothing
        def self.due(message)
          milliseconds = Digits.integer(message.raw_headers[DUE])
          milliseconds && (milliseconds / 1000.0)
        end

        # @return [Hash{Symbol=>Object}, nil] as it is produced when its time has come; nil: it does not say where
        def self.open(message)
          headers = message.raw_headers
          topic = headers[TOPIC] or return
          {topic:, partition: Digits.integer(headers[PARTITION]), **content(message), headers: headers.except(*HEADERS)}.compact
        end

        # @return [Hash{Symbol=>Object}] as it is produced to the next delay topic
        def self.pass_on(message, topic) = {topic:, **content(message), headers: message.raw_headers}

        def self.content(message) = {payload: message.raw_payload, key: message.raw_key}
        private_class_method :content
      end
    end
  end
end
