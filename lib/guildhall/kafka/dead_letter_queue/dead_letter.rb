# frozen_string_literal: true

require "time"
require "guildhall/digits"
require "guildhall/printable"
require "guildhall/redaction"
require_relative "../logging"

module Guildhall
  module Kafka
    # Sends messages to a retry topic or a dead letter topic, and reads and replays what is there.
    module DeadLetterQueue
      # The headers that a message has beside its own when it goes to a retry topic or a dead letter topic: where it comes from, how
      # often and why it failed.
      # @api private
      module DeadLetterHeaders
        # Of these headers; a message without {VERSION_NAME} has the first one.
        VERSION = 1
        VERSION_NAME = "guildhall_source_version" # "source_version" may be a header of the application's
        # The message's origin, and when it failed first. Retry topics on its way keep these headers.
        FIRST = %w[source_topic source_partition source_offset source_consumer_group source_first_failed_at].freeze
        # Of the error that it has failed with last. Not every error has the last two.
        ERROR = %w[source_error_class source_error_place source_error_message].freeze
        NAMES = [*FIRST, "source_attempts", *ERROR, VERSION_NAME].freeze
        MAX_TEXT_BYTES = 500
        private_constant :VERSION_NAME, :FIRST, :ERROR, :MAX_TEXT_BYTES

        # All headers of the message that is sent: its own, and these.
        # @param attempts [Integer] how often it has failed in this topic
        # @param messages [Boolean] whether the error's message is one of them, which may quote the payload
        def self.for(message, topic, attempts, error, messages: false)
          passed = topic.retry_topic? ? message.raw_headers : {}
          here = [message.topic, message.partition.to_s, message.offset.to_s, topic.group, Time.now.utc.iso8601(3)]
          first = FIRST.zip(here).to_h { |name, value| [name, text(passed[name]) || value] }
          all = (attempts(passed).to_i + attempts).to_s
          own = {**first, "source_attempts" => all, **of_error(error, messages), VERSION_NAME => [version(passed).to_i, VERSION].max.to_s}
          {**message.raw_headers.except(*ERROR), **own}
        end

        def self.of_error(error, messages)
          texts = [error.class.name.to_s, Logging::ApplicationFrame.place(error), (Redaction.message(error, messages: true) if messages)]
          ERROR.zip(texts).to_h.compact.transform_values { |text| Printable.utf8(text).byteslice(0, MAX_TEXT_BYTES).scrub("") }
        end
        private_class_method :of_error

        # How often the message has failed before it came here; nil where no header says so.
        def self.attempts(headers) = Digits.integer(text(headers["source_attempts"]))

        # nil where no header says so.
        def self.version(headers) = Digits.integer(text(headers[VERSION_NAME]))

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

        # The class of the error that it failed with last; the place in the application's code where that was raised, nil also of letters
        # of earlier versions; and its message, where the application's `error_reports` show it.
        def error_class = source_header("error_class")
        def error_place = source_header("error_place")
        def error_message = source_header("error_message")

        # @return [String] such as "KeyError: key not found (app/orders.rb:7:in 'OrdersConsumer#consume')", as much of it as is known
        def error = "#{error_class}#{": #{error_message}" if error_message}#{" (#{error_place})" if error_place}"

        # @return [Boolean] whether any header says that it was dead-lettered: not of other tools' dead letters
        def dead_lettered? = headers.keys.intersect?(DeadLetterHeaders::NAMES)

        # @param to [String, nil] a topic that is named for all that are replayed together
        # @return [String, nil] the topic that a replay sends it to; nil: none, for no header says where it came from
        def replay_topic(to = nil) = to || source_topic

        # The message's own.
        def original_headers = headers.except(*DeadLetterHeaders::NAMES)

        # @return [String] such as "orders/3@4711", or "-"
        def source = source_topic ? "#{source_topic}/#{source_partition}@#{source_offset}" : "-"
        def to_s = "#{topic}/#{partition}@#{offset}"

        private

        # Whoever has written it: as text.
        def source_header(name) = DeadLetterHeaders.text(headers["source_#{name}"])&.then { |text| Printable.valid(text) }
      end
    end
  end
end
