# frozen_string_literal: true

require "guildhall/clock"

module Guildhall
  module Kafka
    module Metrics
      # Figures of batches on their way to a backend, which gets them together, four times a second: counters added up, each value of a
      # distribution. Batches come by the hundred a second, and a backend that is called once between two batches takes five times as
      # long as one that is called in a row. Used by any thread.
      class Buffer
        INTERVAL_SECONDS = 0.25
        private_constant :INTERVAL_SECONDS

        # @yieldparam name [String] of a metric
        # @yieldparam value [Numeric]
        # @yieldparam tags [Hash{Symbol=>Object}]
        def initialize(&record)
          @record = record
          @lock = Mutex.new
          @due = -Float::INFINITY # what comes seldom is passed on at once
          clear
        end

        # @param tags [Hash{Symbol=>Object}]
        # @param counts [Hash{String=>Integer}] growth of counters, by metric
        # @param values [Hash{String=>Numeric}] of distributions, by metric
        # @return [void]
        def add(tags, counts, values = {})
          due = @lock.synchronize do
            sums = @counts[tags]
            counts.each { |name, count| sums[name] += count }
            @values << [tags, values] unless values.empty?
            take if Clock.now >= @due
          end
          pass_on(*due)
        end

        # Passes on what there is.
        # @return [void]
        def flush
          pass_on(*@lock.synchronize { take })
        end

        private

        def clear
          @counts = Hash.new { |counts, tags| counts[tags] = Hash.new(0) }
          @values = []
        end

        # With the lock held.
        def take
          @due = Clock.now + INTERVAL_SECONDS
          [@counts, @values].tap { clear }
        end

        def pass_on(counts = {}, values = [])
          counts.each { |tags, sums| sums.each { |name, sum| @record.call(name, sum, tags) if sum.positive? } }
          values.each { |tags, each| each.each { |name, value| @record.call(name, value, tags) } }
        end
      end
    end
  end
end
