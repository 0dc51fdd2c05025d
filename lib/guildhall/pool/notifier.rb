# frozen_string_literal: true

module Guildhall
  class Pool
    # Calls the blocks given to `on_complete`, one after the other in a thread of its own, so that neither workers nor the
    # coordinator wait for them. Runs deferred batches that nobody else reads.
    class Notifier
      def initialize
        @pending = []
        @ready = Thread::Queue.new
        @lock = Mutex.new
      end

      # @param future [Future]
      # @param block [#call] given the future
      def add(future, block)
        future.batch.watch
        @lock.synchronize do
          @pending << [future, block]
          @thread = start unless @thread&.alive?
        end
        look(future.deferred?)
      end

      # Moves on what is complete.
      # @param all [Boolean] what is not complete, too: there are no workers that could complete it
      def look(all)
        return if @pending.empty?

        @lock.synchronize do
          ready, @pending = @pending.partition { |future, _| all || future.ready? || future.deferred? }
          ready.each { |pair| @ready << pair }
        end
      end

      # Ends the thread when it has called what is ready.
      # @param timeout [Numeric] seconds
      def stop(timeout)
        @ready << nil
        @thread&.join(timeout)
      end

      private

      def start
        Thread.new { work }.tap { |thread| thread.name = "guildhall notifier" }
      end

      def work
        while (pair = @ready.pop)
          call(*pair)
        end
      end

      def call(future, block)
        future.wait
        block.call(future)
      rescue StandardError => error
        warn("guildhall: on_complete raised #{error.class}: #{error.message} (#{error.backtrace&.first})")
      end
    end
  end
end
