# frozen_string_literal: true

require_relative "errors"
require_relative "shareable"
require "guildhall/native"

module Guildhall
  # A bounded first-in-first-out queue that any number of Ractors and threads share, in both directions at once:
  # lock-free in C, with the contract of Thread::SizedQueue. Frozen and shareable; items have to be shareable too.
  class Queue
    # Adds an item; waits while the queue is full. Any Ractor and thread may call it.
    # @param item [Object] shareable; nil and false too
    # @param timeout [Numeric, nil] seconds; nil waits without limit, 0 not at all
    # @return [self, nil] nil: still full at the time-out
    # @raise [NotShareableError] naming the path to what is not
    # @raise [ClosedQueueError] when the queue is closed, also while waiting
    def push(item, timeout: nil)
      native_push(item, timeout)
    end
    alias << push

    # Takes the oldest item; waits while the queue is empty. Any Ractor and thread may call it.
    # @param timeout [Numeric, nil] seconds; nil waits without limit, 0 not at all
    # @param default [Object] returned at the time-out, or when the queue is closed and empty
    # @return [Object]
    def pop(timeout: nil, default: nil)
      native_pop(timeout, default)
    end

    # @return [Boolean]
    def empty?
      size.zero?
    end

    # @return [Boolean]
    def full?
      size == capacity
    end

    # @return [String]
    def inspect
      "#<Guildhall::Queue #{size}/#{capacity}#{" closed" if closed?}>"
    end
  end
end
