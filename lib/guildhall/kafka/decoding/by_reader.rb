# frozen_string_literal: true

module Guildhall
  module Kafka
    module Decoding
      # The reader decodes in C while it reads; what follows in a pipeline is done another way.
      class ByReader
        # @return [Codec]
        attr_reader :codec

        # What the reader has handed over beside the records.
        class Results
          def initialize(records, documents, stage, following = nil)
            @records = records
            @documents = documents
            @stage = stage
            @following = following
          end

          # @return [Object, Failure, DROPPED]
          def [](index)
            value = @documents[index]
            return without_document(index) if value.nil?

            @following ? @following[index] : value
          end

          # What the reader could not decode, nobody can.
          # @return [self]
          def again
            @following&.again
            self
          end

          # @return [void]
          def wait
            @records.each_index { |index| self[index] } if @following
          end

          private

          # A payload that is no good, a tombstone, or the value nil.
          def without_document(index)
            error = @records[index].decode_error
            return Decoding.failure(error, index, @stage) if error

            @following && @following[index]
          end
        end

        # @param codec [Codec] with a native decoder
        # @param stage [Symbol, nil] what a pipeline calls the decoding
        # @param following [OnAccess, nil] runs the rest of a pipeline; nil when there is none
        # @param otherwise [#begin] how everything is done where the reader could not decode
        def initialize(codec, stage, following, otherwise)
          @codec = codec
          @stage = stage
          @following = following
          @otherwise = otherwise
        end

        # @param documents [Array<Object, nil>, nil] what the reader has decoded of each; nil: it has not tried
        # @return [Results]
        def begin(records, source, documents = nil)
          return @otherwise.begin(records, source) unless documents

          Results.new(records, documents, @stage, @following&.begin(records, source, documents))
        end
      end
    end
  end
end
