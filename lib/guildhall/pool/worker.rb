# frozen_string_literal: true

module Guildhall
  class Pool
    # A worker Ractor's body: takes slices and runs them, until there is nothing more to take. Both are native; no Ruby
    # block, and no other thread, stands between a payload and its result.
    module Worker
      # @param seat [Seat]
      # @param log [Log]
      # @return [Ractor]
      def self.start(seat, log)
        quietly do
          Ractor.new(seat, log.line(seat.queue), name: "guildhall worker") { |mine, line| Worker.run(mine, line) }
        end
      end

      # In the worker Ractor. Whatever ends it, the seat learns of it: Thread.exit inside a task cannot be rescued.
      def self.run(seat, line)
        return unless seat.claim

        Thread.current.report_on_exception = false
        Ractor.current[:guildhall_logger] = line
        # A Ractor begins with the mask of the thread that made it, which may have been one that nothing interrupts.
        Thread.handle_interrupt(Object => :immediate) { seat.work while seat.take }
      ensure
        seat.leave
      end

      # Ruby's warning that Ractors are experimental is silenced for ours alone.
      def self.quietly
        before = Warning[:experimental]
        Warning[:experimental] = false
        yield
      ensure
        Warning[:experimental] = before
      end
      private_class_method :quietly
    end
  end
end
