# frozen_string_literal: true

require_relative "codec"
require_relative "errors"
require_relative "shareable"

module Guildhall
  # Avro: a codec for one schema, or for a writer's schema read with another. Frozen and shareable; all methods may be
  # called from any Ractor and any thread; none blocks; none changes or freezes what it is given.
  #
  # Decodes what one `encode` made, without a header. For payloads that name their schema see {Confluent} and
  # {SingleObject}; for files {Container}.
  #
  # @example
  #   codec = Guildhall::Avro.new(File.read("order.avsc"))
  #   codec.decode(bytes)                                  # => {"id" => 1, …}, deeply frozen
  #   codec.encode({"id" => 1, …})                         # => frozen binary String
  #   Guildhall::Avro.new(old, reader: new).decode(bytes)  # written with old, read as new
  class Avro
    include Codec
  end
end

require "guildhall/native"
require_relative "avro/schema"
require_relative "avro/branch"
require_relative "avro/logical"
require_relative "avro/options"
require_relative "avro/program"
require_relative "avro/lazy"
require_relative "avro/map_document"
require_relative "avro/array_document"

module Guildhall
  class Avro # rubocop:disable Style/Documentation -- above, where the parts of it are not needed yet
    # @return [Schema] what payloads are written with
    # @return [Schema] what they are read as
    attr_reader :schema, :reader

    # @param schema [Schema, String, Hash, Array, ::Avro::Schema] the writer's; checked, unless `strict_schemas` is false. A
    #   {Schema} was checked, or was not, where it was parsed
    # @param reader [Schema, String, Hash, Array, ::Avro::Schema, nil] nil: the writer's
    # @param references [Array<Schema>] schemas whose named types these refer to
    # @param options [Hash] see {Options}
    # @raise [SchemaError] for an invalid schema
    # @raise [MismatchError] when the reader's schema can read nothing that the writer's writes
    # @raise [Guildhall::ArgumentError] naming every option that is wrong
    def initialize(schema, reader: nil, references: [], **options)
      options = Options.check(options)
      strict = Options.strict?(options, given: true)
      @schema = Schema.parse(schema, references:, strict:)
      @reader = reader ? Schema.parse(reader, references:, strict:) : @schema
      @logical = Logical.new(options.fetch(:logical_types))
      @decoder = Program.new(@schema, @reader, options)
      @encoder = encoding(options)
      Ractor.make_shareable(self)
    end

    # @param bytes [String] one value, nothing after it
    # @return [Object] as the reader's schema says; frozen and shareable, all the way down
    # @raise [DecodeError]
    def decode(bytes) = @decoder.decode(bytes, 0)

    alias call decode

    # A lazy view: the payload is checked, and read where it lies. What a logical type is in Ruby is made when it is asked for.
    # @param bytes [String] pinned by the Document; copied first unless it is frozen
    # @return [MapDocument, ArrayDocument, Object] the plain value where the root is a scalar
    # @raise [DecodeError]
    def document(bytes) = @decoder.document(bytes, 0)

    # The codec that gives Documents instead of Hashes, with the same schemas and options.
    def lazy = Lazy.new(self, @decoder)

    # @param object [Object] Hashes with String or Symbol keys, Arrays, Documents … as the writer's schema says. Of a union's
    #   branches the one that the object is exactly, else the first that it fits; or the one that a {Branch} names. Of several
    #   records or maps only one that has a place for every member.
    # @return [String] frozen, binary
    # @raise [EncodeError] naming the path to what does not fit
    def encode(object) = @encoder.encode(object, nil)

    # @api private
    # @param from [Integer] where the value begins: after a header
    def decode_from(bytes, from) = @decoder.decode(bytes, from)

    # @api private
    def document_from(bytes, from) = @decoder.document(bytes, from)

    # @api private
    # @return [Array] what the writer's bytes are read as, by the canonical form and by what that leaves out, logical types
    def readings = [@schema.canonical_form, @logical.readings(@schema.root)]

    # @api private
    # @return [Program] that decodes
    def program = @decoder

    # @api private
    # @param count [Integer] values, one after the other
    def decode_many(bytes, count) = @decoder.decode_many(bytes, count)

    # @api private
    # @return [Program] that encodes
    attr_reader :encoder

    # @api private
    # @return [String] prefix and encoded object, copied once
    def encode_after(prefix, object) = @encoder.encode(object, prefix)

    # @return [Avro] itself: it cannot change
    def dup = self
    # @return [Avro] itself
    def clone(**) = self

    private

    def encoding(options)
      return @decoder if @reader.equal?(@schema) && !options.fetch(:symbolize_names)

      Program.new(@schema, @schema, options.merge(symbolize_names: false))
    end
  end
end

require_relative "avro/single_object"
require_relative "avro/confluent"
require_relative "avro/container"
