# frozen_string_literal: true

require_relative "codec"
require_relative "errors"
require_relative "shareable"

module Guildhall
  # JSON: bytes to frozen, shareable objects.
  #
  # The class itself is a codec with the default options: strict RFC 8259, String keys, duplicate keys refused.
  # An instance is a codec with options of its own, frozen and shareable like everything here. All methods may be
  # called from any Ractor and any thread; none blocks; none changes or freezes what it is given.
  #
  # @example
  #   Guildhall::JSON.decode('{"id": 1}')                               # => {"id" => 1}, deeply frozen
  #   Guildhall::JSON.document(bytes).dig("user", "email")              # reads what is asked for, nothing else
  #   Guildhall::JSON.new(symbolize_names: true).decode('{"id": 1}')    # => {id: 1}
  class JSON
    include Codec
    extend Codec
  end
end

require "guildhall/native"
require_relative "json/options"
require_relative "json/parse_error"
require_relative "json/encode_error"
require_relative "json/document"
require_relative "json/object_document"
require_relative "json/array_document"
require_relative "json/lazy"
require_relative "json/path"
require_relative "json/stream"

module Guildhall
  class JSON # rubocop:disable Style/Documentation
    # @!method decode(bytes)
    #   @param bytes [String] UTF-8 (or binary, read as UTF-8; other encodings are converted)
    #   @return [Hash, Array, String, Numeric, true, false, nil] frozen, shareable, all the way down
    #   @raise [ParseError]
    # @!method encode(object)
    #   What the json gem's generate writes, for Hashes, Arrays, Strings, Symbols, numbers, nil, booleans and
    #   Documents; anything else by its `to_json`, or as its `to_s`.
    #   @return [String] frozen, UTF-8
    #   @raise [EncodeError]
    # @!method document(bytes)
    #   @param bytes [String] pinned by the Document; copied first unless it is frozen
    #   @return [ObjectDocument, ArrayDocument, Object] a lazy view; the plain value where the root is a scalar
    #   @raise [ParseError]

    # @param options [Hash] see {Options}
    # @raise [Guildhall::ArgumentError] naming every option that is wrong
    def initialize(**options)
      options = Options.check(options)
      configure(options, *Options.decimal(options.fetch(:decimal_class)))
      share
    end

    # The codec that gives Documents instead of Hashes, with the same options.
    # @return [Lazy]
    def lazy
      as(Lazy)
    end

    # Reads newline-delimited or concatenated JSON, one text at a time. Blocks as the IO does.
    # @param source [String, #read] of an IO no more is kept than one text and a chunk
    # @param chunk [Integer] bytes to read at once from an IO
    # @yieldparam document [ObjectDocument, ArrayDocument, Object] as {#document} gives it
    # @return [self, Enumerator]
    # @raise [ParseError] at the first text that is not valid; its offset counts from the beginning of the source
    def each_document(source, chunk: 65_536)
      return to_enum(:each_document, source, chunk:) unless block_given?

      Stream.new(self, source, chunk).each do |text, offset|
        yield parse_at(text, offset)
      end
      self
    end

    # @return [JSON] itself: it cannot change
    def dup = self
    # @return [JSON] itself
    def clone(**) = self

    # @return [Lazy] the codec that gives Documents, with the default options
    def self.lazy = LAZY

    # With the default options: see {#each_document}.
    def self.each_document(...) = DEFAULT.each_document(...)

    DEFAULT = new
    LAZY = DEFAULT.lazy
    private_constant :DEFAULT, :LAZY

    private

    def parse_at(text, offset)
      document(text)
    rescue ParseError => error
      raise error.moved_by(offset)
    end
  end
end
