# frozen_string_literal: true

require "time"
require "guildhall/digits"

module Guildhall
  module Kafka
    # Sends messages to a retry topic or a dead letter topic, and reads and replays what is there.
    module DeadLetterQueue
      # The headers that a message has beside its own when it goes to a retry topic or a dead letter topic: where it comes from, how
      # often and why it failed.
      module DeadLetterHeaders
        # The message's origin, and when it failed first. Retry topics on its way keep these headers.
        FIRST = %w[source_topic source_partition source_offset source_consumer_group source_first_failed_at].freeze
        NAMES = [*FIRST, "source_attempts", "source_error_class"].freeze
        private_constant :FIRST

        # @param attempts [Integer] how often it has failed in this topic
        def self.for(message, topic, attempts, error)
          passed = topic.retry_topic? ? message.raw_headers : {}
          here = [message.topic, message.partition.to_s, message.offset.to_s, topic.group, Time.now.utc.iso8601(3)]
          first = FIRST.zip(here).to_h { |name, value| [name, text(passed[name]) || value] }
          {**first, "source_attempts" => (attempts(passed).to_i + attempts).to_s,
                    "source_error_class" => error.class.name.to_s}
        end

        # How often the message has failed before it came here; nil where no header says so.
        def self.attempts(headers) = Digits.integer(text(headers["source_attempts"]))

        # A header that was there before, or that another tool has added to, is one of several values: the last one counts.
        def self.text(value) = value.is_a?(Array) ? value.last : value
      end

      # One message of a dead letter topic: as it was, and what became of it. time: when it was dead-lettered, nil where it has no
      # timestamp; headers: the message's own, and those that say where it is from, nil where one has no value. What no header says is nil.
      DeadLetter = Data.define(:topic, :partition, :offset, :time, :key, :payload, :headers) do
        def self.from(record)
          new(topic: record.topic, partition: record.partition, offset: record.offset, time: record.timestamp, key: record.key,
            payload: record.raw_payload, headers: record.headers.transform_keys { |name| utf8(name) })
        end

        # As UTF-8 where it is that, else as bytes.
        def self.utf8(bytes)
          text = bytes.dup.force_encoding(Encoding::UTF_8)
          text.valid_encoding? ? text : bytes
        end

        # Where it came from, and the consumer group that could not handle it.
        def source_topic = source_header("topic")
        def source_partition = Digits.integer(source_header("partition"))
        def source_offset = Digits.integer(source_header("offset"))
        def source_group = source_header("consumer_group")

        # How often that was tried.
        def attempts = DeadLetterHeaders.attempts(headers)

        def first_failed_at
          Time.iso8601(source_header("first_failed_at").to_s)
        rescue ::ArgumentError
          nil
        end

        def error_class = source_header("error_class")

        # The message's own.
        def original_headers = headers.except(*DeadLetterHeaders::NAMES)

        # @return [String] such as "orders/3@4711", or "-"
        def source = source_topic ? "#{source_topic}/#{source_partition}@#{source_offset}" : "-"
        def to_s = "#{topic}/#{partition}@#{offset}"

        private

        def source_header(name) = DeadLetterHeaders.text(headers["source_#{name}"])
      end
    end
  end
end
