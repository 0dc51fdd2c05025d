# frozen_string_literal: true

module Guildhall
  module Kafka
    # The threads that run consumers. What is pushed has a method `run`; each push is run once, by one thread, first
    # come first served, but what is urgent goes first.
    class Runners
      # @param count [Integer] threads
      # @param name [String] what the threads are called
      # @yieldparam error [Exception] what a `run` raised: it should not
      def initialize(count, name: "guildhall runner", &on_error)
        @jobs = []
        @urgent = []
        @lock = Mutex.new
        @arrived = ConditionVariable.new
        @closed = false
        @busy = 0
        @on_error = on_error
        @threads = Array.new(count) { |index| start("#{name} #{index + 1}") }
      end

      # @param job [#run]
      # @param urgent [Boolean]
      # @return [void]
      def push(job, urgent: false)
        @lock.synchronize do
          (urgent ? @urgent : @jobs) << job
          @arrived.signal
        end
      end

      # @return [Integer] threads that run something now
      def busy
        @lock.synchronize { @busy }
      end

      # @return [Integer] jobs that wait for a thread
      def waiting
        @lock.synchronize { @jobs.size + @urgent.size }
      end

      # Ends the threads once they have run what was pushed, or kills them at the deadline.
      # @param deadline [Float] of the monotonic clock, in seconds
      # @return [Boolean] whether all of them ended by themselves
      def close(deadline)
        @lock.synchronize do
          @closed = true
          @arrived.broadcast
        end
        ended = @threads.map { |thread| thread.join(Clock.left(deadline)) }.all?
        @threads.each(&:kill).each { |thread| thread.join(1) } unless ended
        ended
      end

      private

      def start(name)
        Thread.new do
          Thread.current.name = name
          Thread.current.report_on_exception = false
          while (job = pop)
            run(job)
          end
        end
      end

      def run(job)
        job.run
      rescue Exception => error # rubocop:disable Lint/RescueException -- a runner must outlive what it runs
        @on_error&.call(error)
      ensure
        @lock.synchronize { @busy -= 1 }
      end

      def pop
        @lock.synchronize do
          @arrived.wait(@lock) while @urgent.empty? && @jobs.empty? && !@closed
          job = @urgent.shift || @jobs.shift
          @busy += 1 if job
          job
        end
      end
    end
  end
end
