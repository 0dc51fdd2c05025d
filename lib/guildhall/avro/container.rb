# frozen_string_literal: true

require_relative "container/compression"
require_relative "container/input"
require_relative "container/reader"
require_relative "container/writer"

module Guildhall
  class Avro
    # Avro's object container files: a schema, then blocks of objects, compressed or not.
    #
    # @example
    #   File.open("orders.avro", "wb") { |file| Guildhall::Avro::Container.write(file, schema, orders, compression: "deflate") }
    #   File.open("orders.avro", "rb") { |file| Guildhall::Avro::Container.each(file) { |order| … } }
    module Container
      MAGIC = "Obj\x01".b.freeze
      SYNC_BYTES = 16
      METADATA = Ractor.make_shareable(Avro.new({type: "map", values: "bytes"}))

      # Reads object after object; blocks on the IO. Keeps one block in memory.
      # @param source [IO, String] an IO in binary mode, or the bytes themselves
      # @param options [Hash] see {Reader#initialize}
      # @yieldparam object [Object] frozen, shareable
      # @raise [DecodeError]
      def self.each(source, **options, &)
        Reader.new(source, **options).each(&)
      end

      # @param target [IO] in binary mode; stays open
      # @param options [Hash] see {Writer#initialize}
      # @raise [EncodeError]
      def self.write(target, schema, objects, **)
        writer = Writer.new(target, schema, **)
        objects.each { |object| writer << object }
        writer.flush
      end
    end
  end
end
