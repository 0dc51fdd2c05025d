# frozen_string_literal: true

require "guildhall/option_rules"

module Guildhall
  module Kafka
    module Broker
      # From where to where a topic is read.
      # @api private
      class OffsetRange
        OFFSETS = lambda do |value|
          value.is_a?(Hash) && value.any? && value.to_a.flatten.all? { |number| number.is_a?(Integer) && !number.negative? }
        end
        RULES = OptionRules.new(
          from: OptionRules.rule("an offset, a negative number (of messages from the end), :earliest, :latest, a Time, or a Hash of " \
                                 "offsets by partition") do |value|
            value.is_a?(Integer) || value.is_a?(Time) || %i[earliest latest].include?(value) || OFFSETS.call(value)
          end,
          until: OptionRules.rule("an offset, :end, a Time, a Hash of offsets by partition, or nil (never ends)") do |value|
            value.nil? || value == :end || value.is_a?(Time) || (value.is_a?(Integer) && !value.negative?) || OFFSETS.call(value)
          end
        )
        private_constant :OFFSETS, :RULES

        # @param others [Array<Range<Integer>>] in order
        # @return [Array<Range<Integer>>] the parts of a range that are in none of the others
        def self.without(range, others)
          first = range.begin
          parts = others.filter_map do |other|
            (first...[other.begin, range.end].min).tap { first = [first, other.end].max }
          end
          [*parts, first...range.end].select { |part| part.begin < part.end }
        end

        # As in {Kafka.each_message}.
        # @param owner [String] whose arguments they are, for errors
        def initialize(from, til, owner: "each_message")
          RULES.check!({from:, until: til}, owner:)
          @from = from
          @until = til
        end

        # Blocks for the brokers' answers; with a negative number, while these messages are read.
        # @param partitions [Array<Integer>, nil] nil: those of the Hash, or all
        # @param present [Boolean] whether a range ends with what is there now, although its end says more
        # @return [Hash{Array(String, Integer)=>Range}] by topic and partition; their end is Float::INFINITY where there is none
        # @raise [Guildhall::ArgumentError] where there is no such partition
        def resolve(session, topic, partitions, present: false)
          session.ranges_of(topic, numbers(topic, partitions)).to_h do |number, there|
            last = last(session, topic.name, number, there)
            last = [last, there.end].min if present && !endless?
            [[topic.name, number], first(session, topic.name, number, there)...last]
          end
        end

        # It waits for messages that are still to be written, without an end.
        def endless? = @until.nil?

        private

        def numbers(topic, partitions)
          there = topic.leaders.keys
          numbers = partitions || (@from.is_a?(Hash) ? @from.keys : there)
          missing = numbers - there
          return numbers if missing.empty?

          raise Guildhall::ArgumentError, "topic #{topic.name} has the partitions 0 to #{there.size - 1}, " \
                                          "not #{missing.map(&:inspect).join(", ")}"
        end

        # Deleted messages are skipped; an offset beyond the end waits for its message.
        def first(session, topic, partition, present)
          case @from
          when :earliest then present.begin
          when :latest then present.end
          when Hash then [@from.fetch(partition, present.begin), present.begin].max
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
          when Hash then @until.fetch(partition, present.end)
          else @until
          end
        end
      end
    end
  end
end
