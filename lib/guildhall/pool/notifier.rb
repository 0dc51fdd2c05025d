# frozen_string_literal: true

module Guildhall
  class Pool
    # Calls the blocks given to `on_complete`, one after the other in a thread of its own, so that neither workers nor the
    # coordinator wait for them. Runs deferred batches that nobody else reads. While it has callbacks that wait, it looks
    # after the coordinator, and the coordinator after it: whichever is killed, the other one brings it back.
    class Notifier
      LOOK_EVERY = 0.1 # seconds
      private_constant :LOOK_EVERY

      # @param pool [#supervise] brings back the coordinator, and with `now: true` makes it look around
      def initialize(pool)
        @pool = pool
        @pending = []
        @ready = Thread::Queue.new
        @lock = Mutex.new
      end

      # @param future [Future]
      # @param block [#call] given the future
      def add(future, block)
        future.batch.watch
        @lock.synchronize { @pending << [future, block] }
        look(future.deferred?)
      end

      # Moves on what is complete.
      # @param all [Boolean] what is not complete, too: there are no workers that could complete it
      def look(all)
        return if @pending.empty? && @ready.empty?

        @lock.synchronize do
          ready, @pending = @pending.partition { |future, _| all || future.ready? || future.deferred? }
          ready.each { |pair| @ready << pair }
          @thread = start unless @thread&.alive?
        end
      end

      # Ends the thread when it has called what is ready.
      # @param timeout [Numeric] seconds
      def stop(timeout)
        @ready << :stop
        @thread&.join(timeout)
      end

      private

      def start
        Thread.new { Thread.handle_interrupt(Object => :immediate) { work } }.tap { |thread| thread.name = "guildhall notifier" }
      end

      def work
        until (pair = @ready.pop(timeout: (LOOK_EVERY if @pending.any?))) == :stop
          pair ? call(*pair) : @pool.supervise
        end
      end

      def call(future, block)
        future.wait
        begun = true
        block.call(future)
      rescue Exception => error # rubocop:disable Lint/RescueException -- the next callback is none of its business
        begun = true
        warn("guildhall: on_complete raised #{error.class}: #{error.message} (#{error.backtrace&.first})")
      ensure
        leave_to_successor(future, block) unless begun
      end

      # This thread was killed.
      def leave_to_successor(*pair)
        @thread = nil
        @ready << pair
        @pool.supervise(now: true)
      end
    end
  end
end
