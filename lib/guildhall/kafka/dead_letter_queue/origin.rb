# frozen_string_literal: true

require "time"
require "guildhall/digits"

module Guildhall
  module Kafka
    module DeadLetterQueue
      # The headers that a message has beside its own when it goes to a retry topic or a dead letter topic: where it comes from, how
      # often and why it failed. Retry topics on its way do not change where it comes from.
      module Origin
        # Where it comes from and when it failed first: as the first one that sent it on has written it.
        FIRST = %w[source_topic source_partition source_offset source_consumer_group source_first_failed_at].freeze
        HEADERS = [*FIRST, "source_attempts", "source_error_class"].freeze
        private_constant :FIRST

        # @param topic [Routing::Topic] its route
        # @param attempts [Integer] how often it has failed in this topic
        # @param error [Exception] what it failed with
        def self.headers(message, topic, attempts, error)
          passed = topic.retry_topics && !topic.retry_topics.first? ? message.raw_headers : {}
          here = [message.topic, message.partition.to_s, message.offset.to_s, topic.group, Time.now.utc.iso8601(3)]
          first = FIRST.zip(here).to_h { |name, value| [name, text(passed[name]) || value] }
          {**first, "source_attempts" => (Digits.integer(text(passed["source_attempts"])).to_i + attempts).to_s,
                    "source_error_class" => error.class.name.to_s}
        end

        # A header that was there before, or that another tool has added to, is one of several values: the last one counts.
        # @param value [String, Array<String, nil>, nil] of a header
        def self.text(value) = value.is_a?(Array) ? value.last : value
      end
    end
  end
end
