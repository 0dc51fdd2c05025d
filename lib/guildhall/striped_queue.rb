# frozen_string_literal: true

require "etc"
require_relative "queue"

module Guildhall
  # Several rings behind one push and one pop: less contention for many Ractors on many cores. It has the interface of {Queue};
  # order and fullness differ:
  #
  # - A producer (a thread) always pushes to the same stripe. Its items come out in the order in which it pushed them;
  #   items of different producers in any order.
  # - A consumer takes from one stripe for a while, then from the next, and from any other as soon as its own is empty.
  # - A producer waits when its own stripe is full, even if others have room.
  class StripedQueue < Queue
    # @param capacity [Integer] of all stripes together; rounded up to a multiple of their number
    # @param stripes [Integer, nil] 1 or more; nil: about as many as there are cores
    # @param check [Boolean] as in {Queue.new}
    # @raise [ArgumentError] when there are more stripes than items would fit
    def self.new(capacity, stripes: nil, check: true)
      stripes ||= capacity.is_a?(Integer) && capacity.positive? ? [Etc.nprocessors, capacity].min : 1
      make(capacity, stripes, check)
    end

    def stripes
      stripe_count
    end
  end
end
