# frozen_string_literal: true

module Guildhall
  class Advisor
    # Measures what a payload costs in a loop in one thread (time, CPU time, garbage), and finds reasons not to measure more.
    # @api private
    class Cost
      SECONDS = 0.3 # of calling, and one payload at least
      SLICE = 0.01 # seconds of calling between two looks at the clock
      SAMPLES = 500
      BUSY = 0.6 # of the time on the CPU: what has less waits
      SHOWN = 60 # characters of an error's message
      private_constant :SECONDS, :SLICE, :SAMPLES, :BUSY

      # @return [Float] a payload
      attr_reader :seconds
      # @return [Float] a payload
      attr_reader :cpu_seconds
      # @return [Float] Ruby objects a payload
      attr_reader :objects
      # @return [Symbol, nil] :mutates, :io_bound, :fails; nil: none of them
      attr_reader :reason
      # @return [String, nil] what was raised
      attr_reader :error

      def initialize(task, payloads)
        @task = task
        @payloads = payloads.list
        @two = Callable.takes_metadata?(task)
      end

      def measure
        count = run(slices(warm_up))
        @reason = :io_bound if waiting?(count)
        self
      rescue FrozenError => error
        refuse(@payloads.include?(error.receiver) ? :mutates : :fails, error)
      rescue *RAISED => error
        refuse(:fails, error)
      end

      # @return [Boolean] whether something else has taken the CPU meanwhile: what was measured then says little
      def crowded? = @reason.nil? && @cpu_seconds < BUSY * @seconds

      private

      def refuse(reason, error)
        @reason = reason
        @error = "#{error.class}: #{Printable.words(Redaction.message(error), SHOWN)} (#{error.backtrace&.first})"
        @seconds = @cpu_seconds = @objects = 0.0
        self
      end

      def call(payload) = @two ? @task.call(payload, nil) : @task.call(payload)

      # @return [Float] seconds a payload, about
      def warm_up
        began = Clock.now
        count = 0
        @payloads.first(10).each do |payload|
          call(payload)
          count += 1
          break if Clock.now - began > SECONDS
        end
        (Clock.now - began) / count
      end

      def slices(seconds) = @payloads.first(SAMPLES).each_slice((SLICE / seconds).clamp(1, SAMPLES).to_i).to_a

      def run(slices)
        GC.start
        @waits = switches
        before = [Clock.now, Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID), GC.stat(:total_allocated_objects)]
        count = 0
        slices.cycle do |slice|
          slice.each { |payload| call(payload) }
          count += slice.size
          break if Clock.now - before[0] > SECONDS
        end
        after = [Clock.now, Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID), GC.stat(:total_allocated_objects)]
        @waits = switches - @waits if @waits
        @seconds, @cpu_seconds, @objects = after.zip(before).map { |late, early| (late - early) / count.to_f }
        count
      end

      # Time also passes while other processes have the CPU. A task that waits by itself gives up the CPU for each payload.
      def waiting?(count)
        @cpu_seconds < BUSY * @seconds && (@waits.nil? || @waits > count / 2)
      end

      def switches
        File.read("/proc/thread-self/status")[/^voluntary_ctxt_switches:\s+(\d+)/, 1].to_i
      rescue SystemCallError
        nil
      end
    end

    # Leaves out the payloads for which a task raises, if they are the fewer: some of a topic's payloads are always broken.
    # @api private
    class Sieve
      SECONDS = 1 # of calling: payloads that are left then are not measured
      private_constant :SECONDS

      # @return [String, nil] what it raised first
      attr_reader :error

      def initialize(task, payloads)
        @task = task
        @two = Callable.takes_metadata?(task)
        @payloads = payloads
        @fine = []
        @failing = []
      end

      def count = @failing.size

      # @return [Integer] payloads that the time was too short for
      def untried = @payloads.size - @fine.size - @failing.size

      # Blocks while it calls the task with each payload.
      # @return [Payloads] those to measure: those that fail, if they are most, or if the task changes its payload, which {Cost} then says
      def sound
        limit = Clock.now + SECONDS
        @payloads.list.each do |payload|
          (fine?(payload) ? @fine : @failing) << payload
          break if Clock.now > limit
        end
        return @payloads if @fine.size == @payloads.size

        Payloads.new(@changes || @fine.size <= @failing.size ? @failing : @fine)
      end

      private

      def fine?(payload)
        @two ? @task.call(payload, nil) : @task.call(payload)
        true
      rescue *RAISED => error
        @error ||= "#{error.class}: #{Printable.words(Redaction.message(error), Cost::SHOWN)}"
        @changes = true if error.is_a?(FrozenError)
        false
      end
    end

    # The task as it is given, in a loop, beside a variant of it on a pool: in turn, so that whatever the machine does meets both.
    # @api private
    class Comparison
      WARM_UP = 0.03 # seconds, so that the pool has started
      private_constant :WARM_UP

      # @param pool [Pool, nil] nil: in a loop as well
      def initialize(given, variant, pool, batches, clock)
        @given = given
        @two = Callable.takes_metadata?(given) # and so does a variant of it
        @variant = variant
        @pool = pool
        @batches = batches
        @clock = clock
      end

      # @return [Array<Float>] how many times faster the variant was, in each round
      def gains(rounds)
        warm_up
        Array.new(rounds) do |round|
          round.even? ? seconds { loop_over(@given) } / seconds { vary } : 1 / (seconds { vary } / seconds { loop_over(@given) })
        end
      end

      private

      def warm_up
        limit = Clock.now + WARM_UP
        vary
        vary while Clock.now < limit
      end

      # No result is kept: a consumer that is done with a batch has its garbage to pay for.
      def loop_over(task)
        @batches.each { |batch| batch.map { |payload| @two ? task.call(payload, nil) : task.call(payload) } }
      end

      def vary
        return loop_over(@variant) unless @pool

        @batches.each { |batch| @pool.results(batch, @variant, parallel: true) }
      end

      def seconds
        began = @clock.now
        yield
        @clock.now - began
      end
    end
  end
end
