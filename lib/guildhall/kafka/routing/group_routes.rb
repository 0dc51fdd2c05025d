# frozen_string_literal: true

module Guildhall
  module Kafka
    module Routing
      # The routes of one consumer group: says which of them takes a topic. A route of that name wins over patterns, an earlier pattern over
      # later ones. Any thread may use it.
      # @api private
      class GroupRoutes
        attr_reader :group

        # @param all [Array<Topic>] all routes of the group: a process that consumes only the pattern leaves topics with a route of their
        #   own to other processes
        def initialize(chosen, all = chosen)
          @group = chosen.first.group
          @named = chosen.reject(&:pattern?).to_h { |topic| [topic.name, topic] }
          @patterns = chosen.select(&:pattern?)
          @elsewhere = all.reject(&:pattern?).map(&:name) - @named.keys
        end

        # @return [Topic, nil] nil: none of them takes it
        def route(name) = candidates(name).first

        # @return [Array<Topic>] all routes that match it, the one that takes it first
        def candidates(name)
          return [] if @elsewhere.include?(name)

          [*@named[name], *@patterns.select { |topic| topic.match?(name) }] # rubocop:disable Style/SelectByRegexp -- no Strings
        end

        # @return [Array<String>] topics with a route of their own
        def names = @named.keys
      end
    end
  end
end
