# frozen_string_literal: true

require_relative "errors"
require_relative "shareable"
require "guildhall/native"

module Guildhall
  # A bounded first-in-first-out queue that any number of Ractors and threads share, in both directions at once. It has
  # the contract of Thread::SizedQueue, and more; it is lock-free, frozen and shareable, and so have to be its items.
  #
  # - **Order**: a consumer sees the items of each producer in the order in which they were pushed. Operations that succeed
  #   are linearizable; one that does not wait may say "empty" or "full" while an earlier operation of another Ractor is
  #   still in flight.
  # - **Waiting** uses no processor time, ends at once when there is something to do, and is interrupted by Thread#raise,
  #   Thread#kill, Timeout and Ctrl-C. What raises has done nothing: no item is lost and none is there twice. Under a fiber
  #   scheduler only the fiber waits.
  # - Every method may be called from any Ractor and thread, unless it says otherwise.
  # - **fork**: the child has a copy with the items that were there. Who waited in the parent waits there only. On Ruby 3.4
  #   no other Ractor may be using the queue at that moment.
  #
  # The methods that move items are written in C (`ext/guildhall/queue/class.c`):
  #
  # @!method push(item, non_block = false, timeout: nil)
  #   Adds an item; waits while the queue is full.
  #   @param item [Object] shareable; nil and false too
  #   @param non_block [Boolean] true: raises instead of waiting
  #   @param timeout [Numeric, nil] seconds; nil waits without limit, 0 not at all
  #   @return [self, nil] nil: still full at the time-out
  #   @raise [NotShareableError] naming the path to what is not shareable
  #   @raise [ClosedQueueError] when the queue is closed, also while waiting
  #   @raise [ThreadError] when it is full and non_block is true
  #
  # @!method pop(non_block = false, timeout: nil, default: nil)
  #   Takes the oldest item; waits while the queue is empty.
  #   @param non_block [Boolean] true: raises instead of waiting
  #   @param timeout [Numeric, nil] seconds; nil waits without limit, 0 not at all
  #   @param default [Object] returned at the time-out, or when the queue is closed and empty
  #   @raise [ThreadError] when it is empty and non_block is true
  #
  # @!method try_push(item)
  #   Adds an item unless the queue is full; never waits.
  #   @param item [Object] shareable
  #   @return [Boolean] whether it was added
  #   @raise [NotShareableError]
  #   @raise [ClosedQueueError]
  #
  # @!method try_pop(default = nil)
  #   Takes the oldest item if there is one; never waits.
  #   @param default [Object] returned when the queue is empty
  #
  # @!method push_many(items, timeout: nil)
  #   Adds all items in order, as many at once as there is room for; waits for room for the rest. Other producers' items
  #   may come to lie between them. Dearer than {#push} for one, several times cheaper for many. What interrupts it while
  #   it waits leaves those in the queue that were added before.
  #   @param items [Array<Object>] shareable; all are checked before the first is added
  #   @param timeout [Numeric, nil] seconds for all of them; nil waits without limit, 0 not at all
  #   @return [Integer] how many were added: all, or fewer at the time-out
  #   @raise [NotShareableError]
  #   @raise [ClosedQueueError] when the queue is closed before the last was added
  #
  # @!method pop_many(max, timeout: nil)
  #   Waits for an item, then takes with it what else is there.
  #   @param max [Integer] 1 or more; the maximum
  #   @param timeout [Numeric, nil] seconds to wait for the first; nil waits without limit, 0 not at all
  #   @return [Array<Object>, nil] at least one item; empty at the time-out; nil when the queue is closed and empty
  #
  # @!method drain
  #   Takes all that is there now; never waits.
  #
  # @!method clear
  #   Drops all that is there now; never waits.
  #
  # @!method close
  #   After it nothing can be pushed; queued items can still be popped. Waiting calls of push raise; waiting calls of pop return
  #   their default once the queue is empty.
  #
  # @!method closed?
  #
  # @!method size
  #   @return [Integer] of a moment; exact while no thread pushes or pops
  #
  # @!method capacity
  #   @return [Integer] how many items fit
  #
  # @!method num_waiting
  #   @return [Integer] how many threads and fibers wait in push or pop now
  class Queue
    # @param capacity [Integer] how many items fit; any number from 1
    # @param check [Boolean] false: takes items that are not shareable too, and can then be used inside one Ractor only
    #   (sending it to another raises)
    # @raise [ArgumentError] when the capacity is not 1 or more
    def self.new(capacity, check: true)
      make(capacity, 1, check)
    end

    alias << push
    alias enq push
    alias shift pop
    alias deq pop
    alias length size
    alias max capacity

    def empty?
      size.zero?
    end

    def full?
      size >= capacity
    end

    # Takes items, waiting for each, until the queue is closed and empty.
    # @return [self, Enumerator] an Enumerator without a block
    def each
      return to_enum(:each) unless block_given?

      until (item = pop(default: NOTHING)).equal?(NOTHING)
        yield item
      end
      self
    end

    def inspect
      "#<#{self.class} #{size}/#{capacity}#{" closed" if closed?}>"
    end

    # @raise [TypeError] always, as Ruby's own queues
    def marshal_dump
      raise TypeError, "can't dump #{self.class}"
    end

    # Means "no item"; nil is an item.
    NOTHING = Object.new.freeze
    private_constant :NOTHING
    private_class_method :allocate
  end
end
