# frozen_string_literal: true

module Guildhall
  module Kafka
    module Decoding
      # Topics without a deserializer: the payload is the bytes.
      class Raw
        # What became of a batch.
        class Results
          def initialize(records)
            @records = records
          end

          # @return [String]
          def [](index)
            @records[index].raw_payload
          end

          # @return [self]
          def again = self

          # @return [void]
          def wait; end
        end

        # @return [nil]
        def codec; end

        # @return [Results]
        def begin(records, _source, _documents = nil)
          Results.new(records)
        end
      end
    end
  end
end
