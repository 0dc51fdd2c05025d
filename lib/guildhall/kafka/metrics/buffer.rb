# frozen_string_literal: true

module Guildhall
  module Kafka
    module Metrics
      # Figures of batches on their way to the backends, which get them together, a quarter of a second later at the latest: counters added
      # up, each value of a distribution. Batches come by the hundred a second, and a backend that is called once between two batches
      # takes much longer than one that is called in a row. Of a batch only numbers are kept: objects that wait here would grow old, and
      # Ruby collects old ones by going through all that there are. Used by any thread.
      class Buffer
        DELAY_SECONDS = 0.25
        private_constant :DELAY_SECONDS

        # @param later [#call] called with seconds and a block, which it calls then; returns nil where it will not
        # @yieldparam name [String] of a metric
        def initialize(later, &record)
          @later = later
          @record = record
          @lock = Mutex.new
          clear
        end

        # @param counts [Hash{String=>Integer}] growth of counters, by metric
        # @param values [Hash{String=>Numeric}] of distributions, by metric
        def add(tags, counts, values = {})
          due = @lock.synchronize do
            clear unless @owner == Process.pid # the parent passes its own on
            sums = @counts[tags]
            counts.each { |name, count| sums[name] += count }
            lists = @values[tags]
            values.each { |name, value| lists[name] << value }
            take unless @waiting ||= @later.call(DELAY_SECONDS) { flush }
          end
          pass_on(*due)
        end

        # Passes on what there is.
        def flush
          pass_on(*@lock.synchronize { take })
        end

        private

        def clear
          @owner = Process.pid
          @waiting = nil # for {#flush} to be called
          @counts = Hash.new { |counts, tags| counts[tags] = Hash.new(0) }
          @values = Hash.new { |values, tags| values[tags] = Hash.new { |lists, name| lists[name] = [] } }
        end

        # With the lock held.
        def take
          [@counts, @values].tap { clear }
        end

        def pass_on(counts = {}, values = {})
          counts.each { |tags, sums| sums.each { |name, sum| @record.call(name, sum, tags) if sum.positive? } }
          values.each { |tags, lists| lists.each { |name, list| list.each { |value| @record.call(name, value, tags) } } }
        end
      end
    end
  end
end
