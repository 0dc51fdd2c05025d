# frozen_string_literal: true

module Guildhall
  class Advisor
    # What a payload costs in a loop, in one thread: time, of that CPU, and garbage; and why it would not pay to measure more.
    class Cost
      SECONDS = 0.3 # of calling, at least
      BUSY = 0.6 # of the time on the CPU: what has less waits
      SHOWN = 60 # characters of an error's message
      private_constant :SECONDS, :BUSY, :SHOWN

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

      # @param task [#call]
      # @param payloads [Payloads]
      def initialize(task, payloads)
        @task = task
        @payloads = payloads.list
        @two = Callable.takes_metadata?(task)
      end

      # @return [self]
      def measure
        @payloads.first(10).each { |payload| call(payload) }
        count = run
        @reason = :io_bound if waiting?(count)
        self
      rescue FrozenError => error
        refuse(@payloads.include?(error.receiver) ? :mutates : :fails, error)
      rescue StandardError => error
        refuse(:fails, error)
      end

      private

      def refuse(reason, error)
        @reason = reason
        @error = "#{error.class}: #{Printable.words(error.message.lines.first.to_s.chomp, SHOWN)} (#{error.backtrace&.first})"
        @seconds = @cpu_seconds = @objects = 0.0
        self
      end

      def call(payload) = @two ? @task.call(payload, nil) : @task.call(payload)

      def run
        GC.start
        @waits = switches
        before = [Clock.now, Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID), GC.stat(:total_allocated_objects)]
        count = 0
        while Clock.now - before[0] < SECONDS
          @payloads.first(500).each { |payload| call(payload) }
          count += [@payloads.size, 500].min
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
