# frozen_string_literal: true

require "guildhall/clock"
require_relative "process_memory"

module Guildhall
  module Kafka
    module Reporting
      # What a process has done in a minute, of the figures that {Metrics::Collector} makes: a backend of it. Any thread.
      # @api private
      class Minutes
        # Those that it makes the figures of.
        EVENTS = %w[consumer.consumed consumer.skipped consumer.retrying filter.rejected dead_letter_queue.dispatched lag.measured].freeze
        # Counters => how a record calls them, in its order
        COUNTS = {"consumed.messages" => "consumed", "consumed.bytes" => "bytes", "dropped.messages" => "dropped",
                  "rejected.messages" => "rejected", "retries" => "retries", "dead_letters" => "dead"}.freeze
        NONE = [*COUNTS.values, "errors"].to_h { |name| [name, 0] }.freeze
        private_constant :COUNTS, :NONE

        # @yieldparam workers [Integer] of the pool that have died
        def initialize(&worker_died)
          @worker_died = worker_died
          @lock = Mutex.new
          @lags = {} # by partition
          @started = totals
          forget
        end

        # See {Metrics}.
        def record(metric, value, tags)
          counted = COUNTS[metric.name]
          return count(counted, value, tags) if counted

          case metric.name
          when "lag.messages" then @lock.synchronize { @lags[tags] = value }
          when "lag.seconds" then @lock.synchronize { @ages[place(tags)] = [@ages[place(tags)], value].max }
          when "runners.busy" then @lock.synchronize { @busy << value }
          when "pool.deaths" then @worker_died.call(value) if value.positive?
          end
        end

        # An error of a topic.
        def failed(**tags) = count("errors", 1, tags)

        # What was counted since then, without what is 0.
        # @return [Hash{Array(String, String)=>Hash{String=>Integer}}] by group and topic
        def running
          @lock.synchronize { @counts.to_h { |place, counts| [place, {**counts.reject { |_, count| count.zero? }, **dead_age(place)}] } }
        end

        # @return [Hash{String=>Object}] since the last call
        def take
          counts, ages, busy, lags = @lock.synchronize do
            @counts.each { |place, sums| sums.update(dead_age(place)) }
            [@counts, @ages, @busy, @lags.dup].tap { forget }
          end
          before = @started
          @started = totals
          seconds, cpu, gc = @started.zip(before).map { |now, then_| (now - then_).round(3) }
          {"seconds" => seconds, "rss" => ProcessMemory.resident, "cpu" => cpu, "gc" => gc,
           "busy" => (busy.sum.fdiv(busy.size).round(2) if busy.any?), "topics" => topics(counts, ages, lags)}.compact
        end

        private

        def totals = [Clock.now, Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID), GC.total_time / 1e9]

        # With the lock held.
        def forget
          @counts = Hash.new { |counts, place| counts[place] = NONE.dup }
          @ages = Hash.new(0.0)
          @dead_at = {} # by group and topic
          @busy = []
        end

        def count(name, value, tags)
          @lock.synchronize do
            @counts[place(tags)][name] += value
            @dead_at[place(tags)] = Clock.now if name == "dead"
          end
        end

        # With the lock held: how many seconds ago the last dead letter came, for what was counted may be a minute old.
        def dead_age(place) = {"dead_age" => @dead_at[place]&.then { |at| (Clock.now - at).round(3) }}.compact
        def place(tags) = tags.values_at(:group, :topic)

        def topics(counts, ages, lags)
          sums = lags.group_by { |tags, _| place(tags) }.transform_values { |ones| ones.sum(&:last) }
          (counts.keys | sums.keys).map do |place|
            {"group" => place.first, "topic" => place.last, **counts.fetch(place, NONE), "lag" => sums[place],
             "age" => (ages[place].round(3) if sums.key?(place))}.compact
          end
        end
      end
    end
  end
end
