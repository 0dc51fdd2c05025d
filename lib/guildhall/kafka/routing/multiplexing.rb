# frozen_string_literal: true

require "guildhall/option_rules"
require_relative "../config/duration"

module Guildhall
  module Kafka
    module Routing
      # How many members of a consumer group one process has: always as many, or between two numbers, as the lag says.
      #
      # size: a Range; lag: seconds beyond which the group is behind; grow_after, shrink_after: seconds that it has to be behind, or
      # caught up, before there is a member more, or less.
      Multiplexing = Data.define(:size, :lag, :grow_after, :shrink_after) do
        def initialize(size:, lag: 10, grow_after: 30, shrink_after: 600)
          size = size..size if size.is_a?(Integer)
          super
        end

        # @return [Integer] members that there are in any case
        def minimum = size.begin

        def maximum = size.end

        # @return [Boolean] whether their number changes with the lag
        def elastic? = maximum > minimum

        # @return [Boolean] whether there is one member, as there is unless something else was set
        def single? = maximum == 1

        def to_s = elastic? ? "#{minimum} to #{maximum} members" : "#{maximum} member#{"s" unless single?}"
      end

      # What may be set.
      class Multiplexing
        NONE = new(size: 1)

        LIMIT = 1..100 # members; each costs a thread, and a client of librdkafka with its own
        SIZE = OptionRules.rule("an Integer from 1 to 100, or a Range of two of them (2..5)") do |value|
          first, last = value.is_a?(Range) && !value.exclude_end? ? [value.begin, value.end] : [value, value]
          [first, last].all? { |one| one.is_a?(Integer) && LIMIT.cover?(one) } && first <= last
        end
        RULES = OptionRules.new("keyword", **%i[lag grow_after shrink_after].to_h { |name| [name, Config::Duration::RULE] })
        private_constant :LIMIT, :SIZE, :RULES

        # @param size [Object] as it was written in the routes
        # @return [Array<String>] everything that is wrong with it
        def self.errors(size, options)
          errors = [*SIZE.problem(size), *RULES.errors(options)]
          return errors if errors.any? || options.empty? || new(size:).elastic?

          ["#{size} cannot have #{options.keys.join(", ")}: the number of members changes with a Range only, as in multiplexing 2..5"]
        end
      end
    end
  end
end
