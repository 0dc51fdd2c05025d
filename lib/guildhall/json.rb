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
require_relative "json/document"
require_relative "json/object_document"
require_relative "json/array_document"
require_relative "json/lazy"

module Guildhall
  class JSON
    # @!method decode(bytes)
    #   @param bytes [String] UTF-8 (or binary, read as UTF-8; other encodings are converted)
    #   @return [Hash, Array, String, Numeric, true, false, nil] frozen, shareable, all the way down
    #   @raise [ParseError]
    # @!method document(bytes)
    #   @param bytes [String] pinned by the Document; copied first unless it is frozen
    #   @return [ObjectDocument, ArrayDocument, Object] a lazy view; the plain value where the root is a scalar
    #   @raise [ParseError]

    # @param options [Hash] see {Options}
    # @raise [Guildhall::ArgumentError] naming every option that is wrong
    def initialize(**options)
      options = Options.check(options)
      configure(options, *Options.decimal(options.fetch(:decimal_class)))
      freeze
    end

    # The codec that gives Documents instead of Hashes, with the same options.
    # @return [Lazy]
    def lazy
      as(Lazy)
    end

    # @return [JSON] itself: it cannot change
    def dup = self
    # @return [JSON] itself
    def clone(freeze: true) = self

    # @return [Lazy] the codec that gives Documents, with the default options
    def self.lazy = LAZY

    LAZY = new.lazy
  end
end
