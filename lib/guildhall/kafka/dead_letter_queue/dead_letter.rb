# frozen_string_literal: true

require "guildhall/digits"
require_relative "origin"

module Guildhall
  module Kafka
    module DeadLetterQueue
      # One message of a dead letter topic: as it was, and what became of it.
      DeadLetter = Data.define(:topic, :partition, :offset, :time, :key, :payload, :headers) do
        def self.from(record)
          new(topic: record.topic, partition: record.partition, offset: record.offset, time: record.timestamp, key: record.key,
            payload: record.raw_payload, headers: record.headers.transform_keys { |name| utf8(name) })
        end

        # @return [String] as UTF-8 where it is that, else as bytes
        def self.utf8(bytes)
          text = bytes.dup.force_encoding(Encoding::UTF_8)
          text.valid_encoding? ? text : bytes
        end

        # @!attribute [r] time
        #   @return [Time, nil] when it was dead-lettered
        # @!attribute [r] headers
        #   @return [Hash{String=>String, Array<String>, nil}] the message's own, and those that say where it is from; nil: a header
        #     without a value

        # @return [String, nil] the topic that it came from; nil where nothing says so
        def source_topic = Origin.text(headers["source_topic"])

        def source_partition = Digits.integer(Origin.text(headers["source_partition"]))

        def source_offset = Digits.integer(Origin.text(headers["source_offset"]))

        # @return [String, nil] the consumer group that could not handle it
        def source_group = Origin.text(headers["source_consumer_group"])

        # @return [Integer, nil] how often that was tried
        def attempts = Digits.integer(Origin.text(headers["source_attempts"]))

        # @return [Time, nil] when it failed first
        def first_failed_at
          Time.iso8601(Origin.text(headers["source_first_failed_at"]).to_s)
        rescue ::ArgumentError
          nil
        end

        def error_class = Origin.text(headers["source_error_class"])

        # @return [Hash{String=>String, Array<String>}] the message's own
        def original_headers
          headers.except(*Origin::HEADERS)
        end

        # @return [String] such as "orders/3@4711", or "-"
        def source
          source_topic ? "#{source_topic}/#{source_partition}@#{source_offset}" : "-"
        end

        def to_s
          "#{topic}/#{partition}@#{offset}"
        end
      end
    end
  end
end
