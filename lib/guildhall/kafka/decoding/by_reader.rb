# frozen_string_literal: true

module Guildhall
  module Kafka
    module Decoding
      # The reader decodes in C while it reads; what follows in a pipeline is done another way.
      class ByReader
        # @return [Codec]
        attr_reader :codec

        # Results that the records hold themselves.
        class Results
          def initialize(records, stage, following = nil)
            @records = records
            @stage = stage
            @following = following
          end

          # @return [Object, Failure, DROPPED]
          def [](index)
            record = @records[index]
            value = record.document
            return @following ? @following[index] : value unless value.nil?

            error = record.decode_error
            error && Decoding.failure(error, index, @stage)
          end

          # What the reader could not decode, nobody can.
          # @return [self]
          def again
            @following&.again
            self
          end

          # @return [void]
          def wait
            @following&.wait
          end
        end

        # @param codec [Codec] with a native decoder
        # @param stage [Symbol, nil] what a pipeline calls the decoding
        # @param following [#begin_decoded, nil] how the rest of a pipeline is run; nil when there is none
        # @param otherwise [#begin] how everything is done where the reader could not decode
        def initialize(codec, stage, following, otherwise)
          @codec = codec
          @stage = stage
          @following = following
          @otherwise = otherwise
        end

        # @return [Results]
        def begin(records, source)
          return @otherwise.begin(records, source) unless records.all?(&:decoded?)

          Results.new(records, @stage, @following&.begin_decoded(records, source))
        end
      end
    end
  end
end
