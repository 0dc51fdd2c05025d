# frozen_string_literal: true

module Guildhall
  module Kafka
    # The threads that run consumers. What is pushed has a method `run`; each push is run once, by one thread, first
    # come first served, but what is urgent goes first. A thread that was ended by what it ran has a successor.
    class Runners
      ENDED = "what a runner ran has ended its thread (Thread.exit?): another thread has taken its place"
      private_constant :ENDED

      # Ruby does not let a thread's end be rescued; only an `ensure` sees it.
      # @return [Boolean] whether the thread that asks is about to end, because of Thread.exit or Thread#kill
      def self.ending?
        Thread.current.status == "aborting"
      end

      # @param count [Integer] threads
      # @param name [String] what the threads are called
      # @yieldparam error [Exception] what a `run` raised: it should not
      def initialize(count, name: "guildhall runner", &on_error)
        @jobs = []
        @urgent = []
        @lock = Mutex.new
        @arrived = ConditionVariable.new
        @closed = @given_up = false
        @busy = 0
        @on_error = on_error
        @threads = []
        @lock.synchronize { count.times { |place| start(place, "#{name} #{place + 1}") } }
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

      # @param thread [Thread]
      # @return [Boolean] whether it is one of them
      def include?(thread)
        @lock.synchronize { @threads.include?(thread) }
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
        ended = @threads.each_index.map { |place| join(place, deadline) }.all?
        give_up unless ended
        ended
      end

      private

      # With the lock held.
      def start(place, name)
        @threads[place] = Thread.new do
          Thread.current.name = name
          Thread.current.report_on_exception = false
          while (job = pop)
            run(job)
          end
        ensure
          succeed(place, name) if Runners.ending?
        end
      end

      # Called by a thread that ends before its time.
      def succeed(place, name)
        return if @lock.synchronize { @given_up || !start(place, name) }

        @on_error&.call(TaskError.new(ENDED))
      end

      # @return [Boolean] whether the thread has ended, and so has its successor, if it has one
      def join(place, deadline)
        thread = @lock.synchronize { @threads[place] }
        return false unless thread.join(Clock.left(deadline))

        @lock.synchronize { @threads[place].equal?(thread) } || join(place, deadline)
      end

      def give_up
        @lock.synchronize { @given_up = true }
        @threads.each(&:kill).each { |thread| thread.join(1) }
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
