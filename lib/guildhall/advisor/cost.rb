# frozen_string_literal: true

module Guildhall
  class Advisor
    # What a payload costs in a loop, in one thread: time, of that CPU, and garbage; and why it would not pay to measure more.
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

      # Where other processes take the CPU, time passes as well: what waits by itself gives the CPU up for each payload.
      def waiting?(count)
        @cpu_seconds < BUSY * @seconds && (@waits.nil? || @waits > count / 2)
      end

      def switches
        File.read("/proc/thread-self/status")[/^voluntary_ctxt_switches:\s+(\d+)/, 1].to_i
      rescue SystemCallError
        nil
      end
    end
  end
end
