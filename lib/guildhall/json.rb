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
require_relative "json/foreign"
require_relative "json/document"
require_relative "json/object_document"
require_relative "json/array_document"
require_relative "json/lazy"
require_relative "json/path"
require_relative "json/stream"
require_relative "json/lines"

module Guildhall
  class JSON # rubocop:disable Style/Documentation
    # @!method decode(bytes)
    #   @param bytes [String] UTF-8 (or binary, read as UTF-8; other encodings are converted)
    #   @return [Hash, Array, String, Numeric, true, false, nil] frozen, shareable, all the way down
    #   @raise [ParseError]
    # @!method encode(object)
    #   What the json gem's generate writes, for Hashes, Arrays, Strings, Symbols, numbers, nil and booleans. Documents of
    #   every format too: those of JSON as they were written, where that is what this codec accepts. A BigDecimal is a
    #   number where BigDecimal is the codec's `decimal_class`. Anything else by a `to_json` of its own class, as Active
    #   Support's `as_json` has it where that is loaded, or as its `to_s`.
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
      @max_bytes = options.fetch(:max_bytes)
      configure(options, *Options.decimal(options.fetch(:decimal_class)))
      share
    end

    # The codec that gives Documents instead of Hashes, with the same options.
    def lazy
      as(Lazy)
    end

    # Reads newline-delimited or concatenated JSON, one text at a time. Blocks as the IO does.
    # @param source [String, #read] of an IO no more is kept than one text and a chunk
    # @param chunk [Integer] bytes to read at once from an IO
    # @param on_error [:raise, :skip, #call] what to do with a text that is not valid. `:raise` ends there. With `:skip`,
    #   or an object that is called with each {ParseError}, each line is one text, and reading goes on with the next line
    # @yieldparam document [ObjectDocument, ArrayDocument, Object] as {#document} gives it
    # @raise [ParseError] at the first text that is not valid; its offset and line count from the beginning of the source
    # @raise [Guildhall::ArgumentError] for another on_error, or a chunk that is not above 0
    # @raise [TypeError] for a source that is neither
    def each_document(source, chunk: 65_536, on_error: :raise, &block)
      unless chunk.is_a?(Integer) && chunk.positive?
        raise Guildhall::ArgumentError, "chunk is how many bytes to read at once, above 0, not #{chunk.inspect}"
      end
      return to_enum(:each_document, source, chunk:, on_error:) unless block

      if on_error == :raise then each_text(utf8(source), chunk, &block)
      else each_line(utf8(source), chunk, error_handler(on_error), &block)
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

    autoload :Confluent, File.expand_path("json/confluent.rb", __dir__)

    DEFAULT = new
    LAZY = DEFAULT.lazy
    # Writes a Document of whatever limits.
    AS_READ = new(max_nesting: 1_000_000, max_bytes: Options::BYTES_LIMIT, max_digits: Options::BYTES_LIMIT)
    private_constant :AS_READ, :DEFAULT, :LAZY

    private

    # Newlines are looked for among bytes.
    def utf8(source)
      return source if !source.is_a?(String) && source.respond_to?(:read)
      raise TypeError, "each_document reads a String or an IO, not #{Shareable.type_of(source)}" unless source.is_a?(String)
      return source if [Encoding::UTF_8, Encoding::BINARY, Encoding::US_ASCII].include?(source.encoding)

      source.encode(Encoding::UTF_8)
    rescue EncodingError => error
      raise DecodeError.new(Redaction.mask(error.message), codec: "JSON", excerpt: error.message)
    end

    def each_text(source, chunk)
      Stream.new(self, source, chunk).each { |text, offset, line| yield parse_at(text, offset, line) }
    end

    def each_line(source, chunk, handler)
      Lines.new(source, chunk, @max_bytes).each do |text, offset, line|
        document = begin
          parse_at(text, offset, line)
        rescue ParseError => error
          handler.call(error)
          next
        end
        yield document
      end
    end

    def error_handler(on_error)
      return ->(_error) {} if on_error == :skip
      return on_error if on_error.respond_to?(:call)

      raise Guildhall::ArgumentError, "on_error: is :raise, :skip or an object with `call`, not #{on_error.inspect}"
    end

    def parse_at(text, offset, line)
      document(text)
    rescue ParseError => error
      raise error.moved_by(offset, line - 1)
    end
  end
end
