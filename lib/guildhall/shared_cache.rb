# frozen_string_literal: true

require_relative "errors"
require_relative "shareable"
require "guildhall/native"

module Guildhall
  # A cache that all Ractors share: frozen, so that codecs can hold it, and yet it can be added to. Reading takes no
  # lock; adding copies the whole, so it is for what is added rarely.
  # @api private
  class SharedCache
    def initialize
      @cell = SharedCell.new({}.freeze)
      freeze
    end

    def [](key) = @cell.get[key]

    # @return [Object] the value that is in the cache now: an earlier one, where another thread was first
    def add(key, value)
      loop do
        before = @cell.get
        return before[key] if before.key?(key)
        return value if @cell.compare_and_swap(before, before.merge(key => value).freeze)
      end
    end

    # Puts the value in the place of whatever was there.
    def replace(key, value)
      swap { |before| before.merge(key => value) }
      value
    end

    # The block may be called several times, where others change the cache meanwhile.
    # @yieldparam value [Object, nil] the present one
    # @yieldreturn [Object] the next one
    # @return [Object] that
    def update(key)
      value = nil
      swap { |before| before.merge(key => (value = yield(before[key]))) }
      value
    end

    def delete(key)
      swap { |before| before.except(key) }
    end

    def keys = @cell.get.keys

    def size = @cell.get.size

    private

    def swap
      loop do
        before = @cell.get
        return if @cell.compare_and_swap(before, yield(before).freeze)
      end
    end
  end
end
