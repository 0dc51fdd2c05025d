# frozen_string_literal: true

require "securerandom"
require_relative "../../option_rules"

module Guildhall
  class Avro
    module Container
      # Writes a container file. Not shareable: it writes to an IO. One thread at a time.
      class Writer
        BLOCK_BYTES = 16_000
        BLOCK_OBJECTS = 16_384 # of objects that take no bytes: readers limit them
        # What a Reader with the default options takes in one block.
        MOST_BYTES, MOST_EMPTY = Options::DEFAULTS.values_at(:max_bytes, :max_empty_items)
        private_constant :BLOCK_OBJECTS, :MOST_BYTES, :MOST_EMPTY

        # Writes the head of the file; blocks on the IO.
        # @param target [IO] in binary mode
        # @param compression [String] one of {Compression::NAMES}
        # @param block_bytes [Integer] from how many bytes on a block is written, before compression
        # @param metadata [Hash{String=>String}] further entries of the header; keys beginning with avro. are Avro's own
        # @raise [SchemaError]
        # @raise [Guildhall::ArgumentError]
        def initialize(target, schema, compression: "null", block_bytes: BLOCK_BYTES, metadata: {})
          check(metadata, compression:, block_bytes:)
          @target = target
          @codec = Avro.new(schema)
          @compression = Compression.named(compression)
          @block_bytes = block_bytes
          @sync = SecureRandom.bytes(SYNC_BYTES)
          empty
          head = {"avro.schema" => @codec.schema.json, "avro.codec" => compression, **metadata}
          @target.write(MAGIC, METADATA.encode(head.transform_values(&:b)), @sync)
        end

        # Blocks when a block is full and has to be written. An object that does not fit leaves nothing behind.
        # @raise [EncodeError] also for an object that a {Reader} with the default options would refuse
        def <<(object)
          measured = @codec.encoder.encode_measured(object)
          flush unless room?(*measured)
          raise EncodeError, "Avro: an object has more values without a byte than a block may have (#{MOST_EMPTY})" unless room?(*measured)

          add(*measured)
          flush if @bytes.bytesize >= @block_bytes || @count == BLOCK_OBJECTS
          self
        end

        # Writes what is there as a block; blocks on the IO.
        def flush
          return self if @count.zero?

          bytes = @compression.compress(@bytes)
          count = @count
          empty
          if bytes.bytesize > MOST_BYTES
            raise EncodeError, "Avro: a block of #{count} objects is longer, when compressed, than readers take (#{MOST_BYTES} bytes)"
          end

          @target.write(long(count), long(bytes.bytesize), bytes, @sync)
          self
        end

        # Writes the last block and closes the IO.
        def close
          flush
          @target.close
        end

        private

        LONG = Ractor.make_shareable(Avro.new("long"))
        private_constant :LONG

        RULES = OptionRules.new(
          compression: OptionRules.one_of(*Compression::NAMES), block_bytes: OptionRules.bytes,
          metadata: OptionRules.rule("a Hash of Strings") { |given| given.is_a?(Hash) && given.to_a.flatten.all?(String) }
        )
        private_constant :RULES

        def check(metadata, **options)
          RULES.check!({metadata:, **options}, owner: "Guildhall::Avro::Container")
          own = metadata.keys.select { |key| key.start_with?("avro.") }
          raise Guildhall::ArgumentError, "metadata #{own.join(", ")} is Avro's own" if own.any?
        end

        def empty
          @bytes = "".b
          @count = @empty_items = @unpaid_fields = 0
        end

        def room?(bytes, empty_items, unpaid_fields)
          length = @bytes.bytesize + bytes.bytesize
          return false if length > MOST_BYTES || @empty_items + empty_items > MOST_EMPTY

          @unpaid_fields + unpaid_fields <= @codec.encoder.unpaid_fields(length)
        end

        def add(bytes, empty_items, unpaid_fields)
          @bytes << bytes
          @count += 1
          @empty_items += empty_items
          @unpaid_fields += unpaid_fields
        end

        def long(number) = LONG.encode(number)
      end
    end
  end
end
