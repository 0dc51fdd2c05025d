# frozen_string_literal: true

require_relative "early_variables"

module Guildhall
  class Pool
    # A worker Ractor's body: takes slices and runs them, until there is nothing more to take. Both are native; no Ruby
    # block, and no other thread, is involved between a payload and its result.
    module Worker
      # @param line [Log::Line] what its tasks log to
      def self.start(slot, line)
        EarlyVariables.make
        quietly do
          Ractor.new(slot, line, name: "guildhall worker") { |mine, logger| Worker.run(mine, logger) }
        end
      end

      # In the worker Ractor. Whatever ends it, the slot learns of it: Thread.exit inside a task cannot be rescued.
      def self.run(slot, line)
        return unless slot.claim

        Thread.current.report_on_exception = false
        Ractor.current[:guildhall_logger] = line
        # A Ractor begins with the mask of the thread that made it, which may have been one that nothing interrupts.
        Thread.handle_interrupt(Object => :immediate) { slot.work while slot.take }
      ensure
        slot.announce_exit
      end

      WARNING_LOCK = Mutex.new
      private_constant :WARNING_LOCK

      # Ruby's warning that Ractors are experimental is silenced for ours alone. The switch is the process's: two that throw it at once
      # could leave it off.
      def self.quietly
        WARNING_LOCK.synchronize do
          before = Warning[:experimental]
          Warning[:experimental] = false
          yield
        ensure
          Warning[:experimental] = before
        end
      end
      private_class_method :quietly
    end
  end
end
