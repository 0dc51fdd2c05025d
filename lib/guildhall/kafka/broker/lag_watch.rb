# frozen_string_literal: true

require "guildhall/clock"
require_relative "lag"

module Guildhall
  module Kafka
    module Broker
      # Lag that is looked at again and again, by clients that stay connected, with how fast it changes. Belongs to one thread; close it.
      # @api private
      class LagWatch
        # As {Lag::Row}, and since the look before: rate_in, rate_out: messages a second that were produced, and that the group has
        # committed; nil: not known, as at the first look, or where an offset went back.
        Row = Data.define(*Lag::Row.members, :rate_in, :rate_out) do
          # (see Lag::Row#beyond_end?)
          def beyond_end? = !committed.nil? && committed > end_offset

          # @return [Float, nil] seconds until nothing is left, at these rates; Float::INFINITY: it does not shrink; nil: not known
          def caught_up_in
            return 0.0 if messages.zero?
            return unless rate_in && rate_out

            rate_out > rate_in ? messages / (rate_out - rate_in) : Float::INFINITY
          end

          # For sorting: first what is furthest behind. What was not found out comes first of all.
          def urgency = [beyond_end? ? 0 : 1, messages.zero? ? 0 : -(seconds || Float::INFINITY), -messages, group, topic, partition]
        end

        TIMEOUT_SECONDS = 5 # for an answer: the next look comes soon
        private_constant :TIMEOUT_SECONDS

        # @param queries [Array<Lag>]
        def initialize(queries)
          @queries = queries
          @sessions = {}
          @before = {}
        end

        # Blocks for the brokers' answers.
        # @return [Answer] of {Row}s, those that need attention first
        # @raise [UnreachableError] where nothing could be asked; look again
        def look
          silent = {}
          answers = @queries.map { |query| answer(query, silent) }
          raise silent.values.first if silent.any? && answers.all? do |answer|
            answer.problems.any? do |one|
              one.error.is_a?(UnreachableError)
            end
          end

          merged = Answer.merge(answers)
          Answer.new(with_rates(merged).sort_by(&:urgency), merged.problems)
        end

        # Blocks for some seconds at most.
        def close
          @sessions.each_value(&:close)
          @sessions = {}
        end

        private

        # @param silent [Hash{String=>UnreachableError}] brokers that have not answered in this look: they are not waited for again
        def answer(query, silent)
          servers = UnreachableError.servers(query.settings)
          raise silent[servers] if silent[servers]

          query.answer_from(@sessions[query] ||= Session.new(query.settings, timeout: TIMEOUT_SECONDS))
        rescue UnreachableError => error
          silent[servers] ||= error
          Answer.new([], [Problem.new(group: query.settings[:"group.id"], topic: nil, partitions: nil, error:)])
        end

        def with_rates(rows)
          now = Clock.now
          before = @before
          @before = @before.merge(rows.to_h { |row| [[row.group, row.topic, row.partition], [row, now]] })
          rows.map do |row|
            last, at = before[[row.group, row.topic, row.partition]]
            Row.new(**row.to_h, rate_in: rate(last&.end_offset, row.end_offset, at, now),
              rate_out: rate(last&.committed, row.committed, at, now))
          end
        end

        def rate(before, after, from, to)
          (after - before) / (to - from) if before && after && after >= before && to > from
        end
      end
    end
  end
end
