# frozen_string_literal: true

module Guildhall
  module Kafka
    module Broker
      class Replay
        # What has become of one partition's dead letters so far.
        class Outcome
          attr_reader :partition
          # @return [Integer] how many were replayed
          attr_reader :replayed
          # @return [Integer] how many the filter has left out
          attr_reader :skipped
          # @return [Integer, nil] the offset of the first, of the last that was replayed; nil where none was
          attr_reader :first, :last
          # @return [Integer] how many of those that were replayed are not noted at the broker
          attr_reader :unnoted

          def initialize(partition)
            @partition = partition
            @replayed = @skipped = @unnoted = 0
            @first = @last = nil
          end

          # @param offset [Integer] of one more that was replayed
          def count(offset)
            @replayed += 1
            @unnoted += 1
            @first ||= offset
            @last = offset
          end

          # All that were replayed are noted now.
          def noted
            @unnoted = 0
          end

          # @param number [Integer] more were left out
          def skip(number)
            @skipped += number
          end
        end
      end
    end
  end
end
