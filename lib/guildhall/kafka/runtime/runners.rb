# frozen_string_literal: true

require "guildhall/error_boundary"

module Guildhall
  module Kafka
    class Runtime
      # The threads that run consumers. What is pushed has a method `run`; each push is run once, by one thread, first
      # come first served, but what is urgent goes first. A thread that is ended, by a `run` or by anybody else, is replaced.
      # @api private
      class Runners
        TIME_SLICE_SECONDS = 0.01 # after which a runner lets other threads have their turn before it takes the next job
        KILL_SECONDS = 1 # that all threads together have to end when they are killed
        private_constant :TIME_SLICE_SECONDS, :KILL_SECONDS

        # @param logger [Logger, nil] `Guildhall.logger` of the code that these threads run; nil: one that writes to standard error
        # @yieldparam error [Exception] what a `run` raised: it should not
        def initialize(count, logger: nil, &on_error)
          @jobs = []
          @urgent = []
          @lock = Mutex.new
          @arrived = ConditionVariable.new
          @closed = @given_up = false
          @busy = 0
          @logger = logger
          @on_error = on_error
          @threads = []
          count.times { |index| start("guildhall runner #{index + 1}") }
        end

        def push(job, urgent: false)
          @lock.synchronize do
            (urgent ? @urgent : @jobs) << job
            @arrived.signal
          end
        end

        # A job that waits goes before those that are not urgent.
        def hurry(job)
          @lock.synchronize { @urgent << job if @jobs.reject! { |other| other.equal?(job) } }
        end

        def include?(thread) = @lock.synchronize { @threads.include?(thread) }

        def size = @lock.synchronize { @threads.size }

        # How many of the threads run something now.
        def busy = @lock.synchronize { @busy }

        # How many jobs wait for a thread.
        def waiting = @lock.synchronize { @jobs.size + @urgent.size }

        # Ends the threads once they have run what was pushed, or kills them at the deadline, and waits a second at most for that.
        # @return [Boolean] whether all of them ended by themselves
        def close(deadline)
          @lock.synchronize do
            @closed = true
            @arrived.broadcast
          end
          while (thread = alive.first)
            return give_up unless thread.join(Clock.left(deadline))
          end
          true
        end

        private

        def alive
          @lock.synchronize do
            @threads.select!(&:alive?)
            @threads.dup
          end
        end

        def give_up
          @given_up = true
          limit = Clock.now + KILL_SECONDS
          alive.each(&:kill).each { |thread| thread.join(Clock.left(limit)) }
          false
        end

        def start(name)
          @lock.synchronize do # which the thread needs as well: it runs nothing before {#include?} knows it
            thread = Thread.new do
              Thread.current.report_on_exception = false
              Thread.current.thread_variable_set(:guildhall_logger, @logger)
              work
              ended = true
            ensure
              start(Thread.current.name) unless ended || @given_up
            end
            thread.name = name
            @threads.delete(Thread.current) # which it replaces
            @threads << thread
          end
        end

        def work
          began = Clock.now
          while (job = pop)
            run(job)
            began = give_way if Clock.now - began > TIME_SLICE_SECONDS
          end
        end

        # Ruby itself lets a thread go on for 0.1 s: with several runners the listener would come too late with new batches.
        def give_way
          Thread.pass
          Clock.now
        end

        def run(job)
          ErrorBoundary.contain(->(error) { @on_error&.call(error) unless @given_up }) { job.run } # its consumer has reported being ended
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
end
