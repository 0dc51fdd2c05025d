# frozen_string_literal: true

module Guildhall
  class Pool
    # The thread that watches the workers of a pool. It sleeps until it is called: by a worker that leaves, or by a batch
    # with a deadline. No payload and no result waits for it.
    class Coordinator
      # @param crew [Crew]
      # @param settings [Settings]
      # @param publish [#call] given an event's name and payload
      def initialize(crew, settings, publish)
        @crew = crew
        @settings = settings
        @publish = publish
        @closing = false
        @lock = Mutex.new
      end

      # Starts the thread unless it runs. Cheap where it does; called often.
      def ensure_running
        return if @thread&.alive? || @closing

        @lock.synchronize { @thread = start unless @thread&.alive? || @closing }
      end

      # @param timeout [Numeric] seconds
      # @return [Boolean] whether the thread has ended
      def stop(timeout)
        @closing = true
        @crew.queue.call
        @thread.nil? || !@thread.join(timeout).nil?
      end

      private

      def start
        Thread.new { watch }.tap do |thread|
          thread.name = "guildhall coordinator"
          thread.report_on_exception = true
          thread.priority = 3
        end
      end

      def watch
        until @closing
          @crew.queue.attend(nil)
          replace_the_left
        end
      end

      def replace_the_left
        @crew.take_away_the_left.each { |member| recover(member) }
        @crew.resize(@settings.workers) unless @closing
      end

      # What the worker had finished is published; what it had not begun goes back in line; what it died with runs once
      # more, alone suspected, and fails the second time.
      def recover(member)
        _, index, last_chance = member.seat.victim
        member.seat.recover(index && last_chance ? died(index) : nil)
        @publish.call("pool.worker_died", index:) unless member.retired
      end

      def died(index)
        Failure.of(WorkerDiedError.new("a worker died while it ran this payload (Thread.exit in the task, say)"), index)
      end
    end
  end
end
