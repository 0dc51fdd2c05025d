# frozen_string_literal: true

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
  end
end
