# frozen_string_literal: true

module Guildhall
  module Kafka
    module Deserializing
      class Payloads
        # Those of a batch's payloads that follow some others: for a batch that was split.
        class Part
          # @param payloads [Payloads, Part] of the whole batch
          # @param first [Integer] the index of the first that belongs here
          def initialize(payloads, first)
            @payloads = payloads
            @first = first
          end

          # (see Payloads#[])
          def [](index) = @payloads[@first + index]

          # (see Payloads#wait)
          def wait = @payloads.wait

          # (see Payloads#filtering?)
          def filtering? = @payloads.filtering?

          # (see Payloads#again)
          def again = @payloads.again
        end
      end
    end
  end
end
