# frozen_string_literal: true

require "zlib"
require "guildhall/clock"
require_relative "../settings/rules"
require_relative "../settings/table"

module Guildhall
  module Kafka
    # Filters reject messages between the topic and the consumer, or make them wait. The classes below are those that routes have a setting
    # for; each partition has an instance of its own while it is assigned, and calls it with a {FilterContext}.
    module Filtering
      # At most `limit` messages of a partition pass in any period of `per` seconds; the others wait.
      # @api private
      class Throttle
        extend Settings::Declared

        setting :limit, nil, Settings::Rules::COUNT, "messages of a partition"
        setting :per, nil, OptionRules.seconds, "seconds"

        # Messages that passed together.
        Passed = Data.define(:time, :offsets, :size)
        private_constant :Passed

        def initialize(limit:, per:)
          @limit = limit
          @per = per
          @passed = []
          @count = 0
        end

        def call(messages)
          now = Clock.now
          forget(now)
          # Messages that a later filter made wait come again, and are not counted twice.
          unpaid = messages.drop_while { |message| @passed.last&.offsets&.cover?(message.offset) }
          room = @limit - @count
          pay(unpaid.first(room), now)
          messages.postpone(unpaid[room], [@passed.first.time + @per - now, 0.001].max) if unpaid.size > room
        end

        private

        def forget(now)
          @count -= @passed.shift.size while @passed.any? && @passed.first.time + @per <= now
        end

        def pay(messages, now)
          return if messages.empty?

          @passed << Passed.new(time: now, offsets: messages.first.offset..messages.last.offset, size: messages.size)
          @count += messages.size
        end
      end

      Delay = Settings.value do
        setting :seconds, nil, OptionRules.seconds, "the age", written: %w[delay SECONDS]
      end

      # A message waits until it is `seconds` old.
      # @api private
      class Delay
        def call(messages)
          now = Time.now
          young = messages.find { |message| (time = message.timestamp) && time + seconds > now }
          messages.postpone(young, young.timestamp + seconds - now) if young
        end
      end

      Expire = Settings.value do
        setting :seconds, nil, OptionRules.seconds, "the age", written: %w[expire SECONDS]
      end

      # Messages that are older than `seconds` are not consumed.
      # @api private
      class Expire
        def call(messages)
          oldest = Time.now - seconds
          messages.reject! { |message| (time = message.timestamp) && time < oldest }
        end
      end

      # Some messages out of many. Their offsets alone decide which, so that a message that comes again gets the same answer.
      # @api private
      class Sample
        extend Settings::Declared

        RANGE = 2**32 # of a checksum
        RATE = OptionRules.rule("a rate above 0 and up to 1 (0.01: one message in a hundred)") do |value|
          value.is_a?(Numeric) && value.real? && value.positive? && value <= 1
        end
        private_constant :RANGE, :RATE

        setting :rate, nil, RATE, "0.01: one message in a hundred", written: %w[sample RATE]

        def initialize(rate:)
          @below = rate * RANGE
        end

        def call(messages)
          messages.select! { |message| Zlib.crc32("#{message.topic}/#{message.partition}@#{message.offset}") < @below }
        end
      end

      # Of a topic's messages those that belong to one segment, of several that consume the same topic: see {Routing::GroupBuilder#consumer_group}.
      # @api private
      class Segment
        BY = OptionRules.rule("what is called with a message") do |value|
          value.respond_to?(:call) && (Settings::Rules.arity_problem(value, 1) || true)
        end
        RULES = OptionRules.new(segments: OptionRules.integer(2..1_000), segment_by: BY.or(nil))
        private_constant :BY

        # @param by [#call, nil] nil: the message's key, or its offset where it has none
        def initialize(number:, segments:, by:)
          @number = number
          @segments = segments
          @by = by || ->(message) { message.key || message.offset }
        end

        def call(messages)
          messages.select! { |message| of(@by.call(message)) == @number }
        end

        private

        # The same in every process.
        def of(answer) = (answer.is_a?(Integer) ? answer : Zlib.crc32(answer.to_s)) % @segments
      end

      # Of messages with the same id only the first is consumed, as long as its id is among the last `window` ones of its partition.
      # @api private
      class Deduplicate
        extend Settings::Declared

        ID = OptionRules.rule("a method of a message (:key) or a callable") do |value|
          next Message.method_defined?(value) if value.is_a?(Symbol)

          value.respond_to?(:call) && (Settings::Rules.arity_problem(value, 1) || true)
        end
        private_constant :ID

        setting :by, nil, ID, "a method of the message, or what is called with it: its id; nil: it has none, and is consumed"
        setting :window, 10_000, Settings::Rules::COUNT, "ids of a partition that are remembered"

        def initialize(by:, window:)
          @by = by.respond_to?(:call) ? by : by.to_proc
          @window = window
          @offsets = {}
        end

        def call(messages)
          messages.reject! { |message| duplicate?(message) }
        end

        private

        # A message that comes again, after a seek or because a later filter made it wait, is no duplicate of itself.
        def duplicate?(message)
          id = @by.call(message)
          return false if id.nil?

          first = @offsets[id]
          return true if first && first < message.offset

          @offsets.delete(id)
          @offsets[id] = message.offset
          @offsets.shift if @offsets.size > @window
          false
        end
      end

      # The filters, by the settings of routes.
      # @api private
      BUILT_IN = Settings::Table.new do
        setting :throttle, nil, Throttle, "lets that many messages of a partition through in any such period; the others wait"
        setting :delay, nil, Delay, "each message waits until it is that old"
        setting :expire, nil, Expire, "messages that are older are not consumed"
        setting :sample, nil, Sample, "consumes some messages out of many"
        setting :deduplicate, nil, Deduplicate, "consumes messages with the same id once, as long as the id is among the last ones"
      end
    end
  end
end
