# frozen_string_literal: true

require "zlib"

module Guildhall
  module Kafka
    module Filtering
      # Some messages out of many. Which ones depends on their offsets alone, so that one that comes again gets the same answer.
      class Sample
        RANGE = 2**32 # of a checksum
        private_constant :RANGE

        # @param rate [Numeric] 0.01: one in a hundred
        def initialize(rate:)
          @below = rate * RANGE
        end

        def call(messages)
          messages.select! { |message| Zlib.crc32("#{message.topic}/#{message.partition}@#{message.offset}") < @below }
        end
      end
    end
  end
end
