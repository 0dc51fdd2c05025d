# frozen_string_literal: true

require "guildhall/option_rules"

module Guildhall
  module Kafka
    module Iterating
      # From where to where a topic is read.
      class Span
        PLACES = %i[earliest latest].freeze
        RULES = OptionRules.new(
          from: OptionRules.rule("an offset, a negative number (counted from the end), :earliest, :latest or a Time") do |value|
            value.is_a?(Integer) || value.is_a?(Time) || PLACES.include?(value)
          end,
          until: OptionRules.rule("an offset, :end, a Time, or nil (never ends)") do |value|
            value.nil? || value == :end || value.is_a?(Time) || (value.is_a?(Integer) && !value.negative?)
          end
        )
        private_constant :PLACES, :RULES

        # @param from [Integer, Symbol, Time] as in {Kafka.each_message}
        # @param til [Integer, Symbol, Time, nil]
        # @raise [Guildhall::ArgumentError]
        def initialize(from, til)
          RULES.check!({from:, until: til}, owner: "each_message")
          @from = from
          @until = til
        end

        # Blocks for the brokers' answers.
        # @param client [Connection::Client]
        # @param topic [String]
        # @param partition [Integer]
        # @return [Array(Integer, Numeric)] the first offset, and the one behind the last; Float::INFINITY: there is no last one
        def resolve(client, topic, partition)
          low, high = %i[earliest latest].map { |place| client.resolve(topic, partition, place) }
          [first(client, topic, partition, low, high), last(client, topic, partition, high)]
        end

        private

        # What is gone cannot be read, and what is not there yet is waited for.
        def first(client, topic, partition, low, high)
          return [high + @from, low].max if @from.is_a?(Integer) && @from.negative?

          [client.resolve(topic, partition, @from), low].max
        end

        def last(client, topic, partition, high)
          case @until
          when nil then Float::INFINITY
          when :end then high
          when Time then client.resolve(topic, partition, @until)
          else @until
          end
        end
      end
    end
  end
end
