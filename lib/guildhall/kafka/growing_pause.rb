# frozen_string_literal: true

module Guildhall
  module Kafka
    # A pause that doubles each time, up to a limit. Not thread-safe.
    class GrowingPause
      # @return [Numeric] how long the next one is, in the unit of the lengths
      attr_reader :length

      # @param lengths [Range] of the first one and of the longest
      def initialize(lengths)
        @length = lengths.begin
        @longest = lengths.end
      end

      # @return [Numeric] how long to pause now; the next pause is twice as long
      def grow = @length.tap { @length = [@length * 2, @longest].min }
    end
  end
end
