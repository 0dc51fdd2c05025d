# frozen_string_literal: true

require "weakref"

module Guildhall
  class Pool
    # Runs the callbacks of futures, so that neither workers nor the supervisor wait for them, and deferred batches that no thread
    # else reads. One after the other in one thread; but where a callback waits for a future, or takes longer than
    # {PATIENCE_SECONDS}, the next thread goes on with the rest: no callback can wait for itself.
    #
    # While there are batches to wait for, it looks after the supervisor, and the supervisor after it: whichever is killed,
    # the other one brings it back. It refers to its pool weakly: an unused pool can be collected.
    # @api private
    class Notifier
      PATIENCE_SECONDS = 0.05
      IDLE_SECONDS = 0.5 # after which a thread ends that has nothing to do
      MAX_THREADS = 16 # threads that do not wait
      Job = Struct.new(:future, :callback, :begun)
      private_constant :PATIENCE_SECONDS, :IDLE_SECONDS, :MAX_THREADS, :Job

      def initialize(pool)
        @pool = WeakRef.new(pool)
        reset
      end

      # The callback is given the future when it is complete.
      def add(future, callback)
        reset if forked?
        future.watch
        @lock.synchronize { @pending << Job.new(future, callback) }
        look(future.deferred?)
      end

      def post(&callback)
        reset if forked?
        @lock.synchronize { enqueue(Job.new(nil, callback)) }
      end

      # Queues the callbacks of complete batches.
      # @param all [Boolean] of incomplete ones, too: no worker is left for them
      def look(all)
        return if forked? || (@pending.empty? && @ready.empty?)

        @lock.synchronize do
          ready, @pending = @pending.partition { |job| all || job.future.ready? || job.future.deferred? }
          ready.each { |job| enqueue(job) }
          keep_a_thread
        end
      end

      # Runs the block, in which a callback waits; other callbacks go on meanwhile.
      def blocking
        before = @threads[Thread.current] or return yield

        begin
          become(:blocked)
          yield
        ensure
          become(before)
        end
      end

      # Ends the threads when they have called what is ready. Can be called by a callback.
      def stop(timeout)
        limit = Clock.deadline(timeout)
        @lock.synchronize do
          @stopping = true
          @changed.broadcast
        end
        (@threads.keys - [Thread.current]).each { |thread| thread.join(limit && Clock.left(limit)) }
      end

      private

      def forked?
        @generation != Pool.fork_generation
      end

      # A child process does not wait for what its parent waits for.
      def reset
        @lock = Mutex.new
        @changed = ConditionVariable.new
        @pending = []
        @ready = []
        @threads = {}.compare_by_identity # what each does: it is :waiting for a job, :running one, :blocked in one, or :leaving
        @last_begun = 0
        @stopping = false
        @generation = Pool.fork_generation
      end

      def enqueue(job)
        @ready << job
        keep_a_thread
        @changed.signal
      end

      # Keeps one thread waiting, as long as there is work.
      def keep_a_thread
        @threads.delete_if { |thread, _| !thread.alive? }
        start_thread unless doing(:waiting).positive? || doing(:running) >= MAX_THREADS || idle?
      end

      def idle?
        @ready.empty? && (@stopping || @pending.empty?)
      end

      def doing(what)
        @threads.each_value.count(what)
      end

      # While the process exits, Ruby starts no more threads and counts the main one as dead: no thread reads what is left.
      def start_thread
        thread = Thread.handle_interrupt(Object => :never) { Thread.new { work } }
        thread.name = "guildhall notifier"
        @threads[thread] = :waiting
      rescue ThreadError
        raise if Thread.main.alive?
      end

      # If the thread is ended, even before it has begun, the next one goes on.
      def work
        Thread.handle_interrupt(Object => :immediate) do
          while (job = @lock.synchronize { take })
            job == :nothing ? supervise : call(job)
          end
        end
      ensure
        become(:leaving)
      end

      # @return [Job, Symbol, nil] nil: this thread is to end
      def take
        since = Clock.now
        loop do
          return start(@ready.shift) if due?

          return if idle? && (@stopping || Clock.now - since > IDLE_SECONDS)

          @changed.wait(@lock, @ready.empty? ? SUPERVISE_EVERY_SECONDS : PATIENCE_SECONDS)
          return :nothing if @ready.empty? && @pending.any?
        end
      end

      def due?
        @ready.any? && (doing(:running).zero? || Clock.now - @last_begun > PATIENCE_SECONDS)
      end

      def start(job)
        @threads[Thread.current] = :running
        @last_begun = Clock.now
        keep_a_thread
        job
      end

      def call(job)
        job.future&.wait
        job.begun = true
        job.callback.call(job.future)
      rescue Exception => error # rubocop:disable Lint/RescueException -- the next callback is none of its business
        job.begun = true
        warn("guildhall: a callback raised #{error.class}: #{Redaction.message(error)} (#{error.backtrace&.first})")
      ensure
        @lock.synchronize { @ready << job } unless job.begun
        become(:waiting)
      end

      def become(what)
        @lock.synchronize do
          @threads[Thread.current] = what
          keep_a_thread
          @changed.signal
        end
      end

      def supervise
        @pool.__getobj__.supervise
      rescue WeakRef::RefError
        nil
      end
    end
  end
end
