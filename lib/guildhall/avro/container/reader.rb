# frozen_string_literal: true

module Guildhall
  class Avro
    module Container
      # Reads a container file. Not shareable: it has a position in an IO. One thread at a time.
      class Reader
        include Enumerable

        # A block, decompressed: frozen and shareable, so that workers can decode it.
        # @api private
        Block = Data.define(:count, :bytes, :codec) do
          # @return [Array] frozen
          # @raise [DecodeError]
          def objects = codec.decode_many(bytes, count).freeze
        end

        # @return [Hash{String=>String}] as in the file, binary
        # @return [Avro] the codec of the file's schema
        attr_reader :metadata, :codec

        # Reads the head of the file; blocks.
        # @param source [IO, String] an IO in binary mode, or the bytes themselves
        # @param reader [Schema, String, Hash, nil] what objects are read as; nil: as they were written
        # @param options [Hash] see {Options}; `max_bytes` bounds a block, before and after decompression
        # @raise [DecodeError] when it is not a container file
        # @raise [SchemaError]
        def initialize(source, reader: nil, **options)
          @input = Input.new(source)
          checked = Options.check(options, Reader)
          @limit = checked.fetch(:max_bytes)
          read_head
          schema = Schema.parse(@metadata["avro.schema"], strict: Options.strict?(checked, given: false))
          @codec = Avro.new(schema, reader:, **options)
          @compression = Compression.named(@metadata["avro.codec"])
        end

        # @return [Schema] the writer's
        def schema = @codec.schema

        # @yieldparam object [Object] frozen, shareable
        # @raise [DecodeError]
        def each(&)
          return to_enum unless block_given?

          each_block { |block| block.objects.each(&) }
        end

        # @raise [DecodeError]
        def each_block
          return to_enum(:each_block) unless block_given?

          yield(read_block) until @input.end?
          self
        end

        private

        def read_head
          magic = @input.read(MAGIC.bytesize)
          @input.refuse("it does not begin as one", excerpt: magic, offset: 0) unless magic.b == MAGIC
          @metadata = read_metadata.freeze
          @input.refuse("no avro.schema in its head") unless @metadata.key?("avro.schema")
          @sync = @input.read(SYNC_BYTES)
        end

        def read_metadata
          metadata = {}
          until (count = @input.number).zero?
            @input.number if count.negative?
            count.abs.times { metadata[text] = @input.read(@input.number, @limit).b.freeze }
          end
          metadata
        end

        def text = @input.read(@input.number, @limit).force_encoding(Encoding::UTF_8).freeze

        def read_block
          count = @input.number
          @input.refuse("a block of #{count} objects") if count.negative?
          bytes = @input.read(@input.number, @limit)
          bytes = @compression.decompress(bytes, @limit) unless bytes.empty? # without objects some writers compress nothing
          @input.refuse("a block does not end with the file's mark") unless @input.read(SYNC_BYTES) == @sync
          Block.new(count:, bytes: bytes.b.freeze, codec: @codec)
        end
      end
    end
  end
end
