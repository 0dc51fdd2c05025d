# frozen_string_literal: true

require_relative "errors"

module Guildhall
  # Tells the handler of a signal (`Signal.trap`) from other code: there no lock can be taken, because the thread that was interrupted may
  # hold it. What needs a lock has to go on in another thread.
  # @api private
  module SignalTrap
    # @return [Boolean] whether the code that asks runs in a signal's handler
    def self.active?
      Mutex.new.synchronize { false }
    rescue ThreadError
      true
    end

    # Called first by what needs a lock, before anything has happened.
    # @raise [SignalTrapError] in a signal's handler
    def self.refuse!
      return unless active?

      raise SignalTrapError, "this cannot be called in a signal's trap, where no lock can be taken: call it in another thread, such as " \
                             "one that waits on a Thread::Queue for the trap's message"
    end
  end
end
