# frozen_string_literal: true

require "guildhall/option_rules"
require_relative "../decoding"
require_relative "../messages/batch"
require_relative "session"

module Guildhall
  module Kafka
    module Broker
      # From where to where a topic is read.
      class OffsetRange
        RULES = OptionRules.new(
          from: OptionRules.rule("an offset, a negative number (of messages from the end), :earliest, :latest or a Time") do |value|
            value.is_a?(Integer) || value.is_a?(Time) || %i[earliest latest].include?(value)
          end,
          until: OptionRules.rule("an offset, :end, a Time, or nil (never ends)") do |value|
            value.nil? || value == :end || value.is_a?(Time) || (value.is_a?(Integer) && !value.negative?)
          end
        )
        private_constant :RULES

        # As in {Kafka.each_message}.
        # @raise [Guildhall::ArgumentError]
        def initialize(from, til)
          RULES.check!({from:, until: til}, owner: "each_message")
          @from = from
          @until = til
        end

        # Blocks for the brokers' answers; with a negative number, while these messages are read.
        # @return [Hash{Array(String, Integer)=>Range}] by topic and partition; their end is Float::INFINITY where there is none
        # @raise [KafkaError]
        def resolve(session, topic, numbers)
          session.ranges_of(topic, numbers).to_h do |number, present|
            [[topic.name, number], first(session, topic.name, number, present)...last(session, topic.name, number, present)]
          end
        end

        # It waits for messages that are still to be written, without an end.
        def endless? = @until.nil?

        private

        # Deleted messages are skipped; an offset beyond the end waits for its message.
        def first(session, topic, partition, present)
          case @from
          when :earliest then present.begin
          when :latest then present.end
          when Time then [session.offset_at(topic, partition, @from) || present.end, present.begin].max
          else @from.negative? ? first_of_last(session, topic, partition, present) : [@from, present.begin].max
          end
        end

        # Counts messages, not offsets: many offsets may hold none (marks of transactions, aborted messages, compacted ones). Blocks while
        # it reads them, backwards, in ranges that grow.
        def first_of_last(session, topic, partition, present)
          found = []
          width = -@from
          from = present.end
          until found.size >= -@from || from <= present.begin
            range = [from - width, present.begin].max...from
            offsets = []
            session.each_record(topic, partition, range) { |record| offsets << record.offset }
            found = offsets + found
            from = range.begin
            width *= 2
          end
          found.size < -@from ? present.begin : found[@from]
        end

        def last(session, topic, partition, present)
          case @until
          when nil then Float::INFINITY
          when :end then present.end
          when Time then session.offset_at(topic, partition, @until) || present.end
          else @until
          end
        end
      end

      # The messages of a topic, one after the other, in order within each partition. Payloads are decoded by the reader, or on
      # the pool while the caller works on those before them. Belongs to one thread.
      class Iterator
        MAX_WAIT_MS = 1_000
        private_constant :MAX_WAIT_MS

        # @param topic [Routing::Topic] whose deserializer holds
        # @param partitions [Array<Integer>, nil] nil: all
        # @param silence [Numeric] as of {TopicReader#initialize}, for a range that ends
        # @yieldreturn [Pool] for what is decoded there
        def initialize(topic, settings, config, partitions, range, silence: Session::SILENCE_SECONDS, &)
          @topic = topic
          @settings = settings
          @config = config
          @partitions = partitions
          @range = range
          @silence = range.endless? ? nil : silence
          @plan = DecodingStrategy.new(topic, &)
        end

        # @raise [UnknownTopicError]
        # @raise [Guildhall::ArgumentError] where there is no such partition
        # @raise [KafkaError] also where nothing comes for too long, although there is more
        def each(&)
          Session.open(@settings) do |session|
            reader = session.reader(codec: @plan.codec, max_messages: @config.max_messages, max_bytes: @config.max_bytes, silence: @silence)
            reader.open(ranges(session))
            ahead = []
            until ahead.empty? && reader.finished?
              read_ahead(reader, ahead)
              ahead.shift&.then { |batch| batch.messages.each(&) }
            end
          ensure
            reader&.close
          end
        end

        private

        def ranges(session)
          topic = session.topic(@topic.name)
          numbers = topic.leaders.keys
          missing = [*@partitions] - numbers
          if missing.any?
            raise Guildhall::ArgumentError, "topic #{topic.name} has the partitions 0 to #{numbers.size - 1}, " \
                                            "not #{missing.map(&:inspect).join(", ")}"
          end

          @range.resolve(session, topic, @partitions || numbers)
        end

        # Keeps one batch ahead, so that workers decode it while the caller works on the one before.
        def read_ahead(reader, ahead)
          return if ahead.size > 1 || reader.finished?

          reader.read(ahead.empty? ? MAX_WAIT_MS : 0) do |_, records, bytes, documents|
            ahead << Messages::Batch.new(records, @plan.begin(records, self, documents), @topic, bytes:)
          end
        end
      end
    end
  end
end
