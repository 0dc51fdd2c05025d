# frozen_string_literal: true

require_relative "codec"
require_relative "errors"
require_relative "shareable"

module Guildhall
  # MessagePack: bytes to frozen, shareable objects, and back.
  #
  # The class itself is a codec with the default options: what it writes is byte for byte what the gem msgpack writes,
  # and it reads what that gem reads. An instance is a codec with options of its own, frozen and shareable. All methods
  # may be called from any Ractor and any thread; none blocks; none changes or freezes what it is given.
  #
  # @example
  #   bytes = Guildhall::MessagePack.encode({"id" => 1})        # frozen binary String
  #   Guildhall::MessagePack.decode(bytes)                      # => {"id" => 1}, deeply frozen
  #   Guildhall::MessagePack.new(symbolize_names: true).decode(bytes) # => {id: 1}
  class MessagePack
    include Codec
    extend Codec
  end
end

require "guildhall/native"
require_relative "msgpack/options"
require_relative "msgpack/extension"
require_relative "msgpack/extension_type"
require_relative "msgpack/lazy"
require_relative "msgpack/map_document"
require_relative "msgpack/array_document"

module Guildhall
  class MessagePack # rubocop:disable Style/Documentation -- above, where the parts of it are not needed yet
    # @!method decode(bytes)
    #   @param bytes [String] one value, nothing after it
    #   @return [Object] frozen and shareable, all the way down. Timestamps are Times in UTC
    #   @raise [DecodeError]
    # @!method document(bytes)
    #   @param bytes [String] pinned by the Document; copied first unless it is frozen
    #   @return [MapDocument, ArrayDocument, Object] a lazy view; the plain value where the root is a scalar
    #   @raise [DecodeError]
    # @!method encode(object)
    #   Documents of every format are written as what they represent. Integers beyond 64 bits and objects of other
    #   classes need an {ExtensionType}; Times are timestamps, Symbols are strings.
    #   @return [String] frozen, binary
    #   @raise [EncodeError]

    # @param options [Hash] see {Options}
    # @raise [Guildhall::ArgumentError] naming every option that is wrong
    def initialize(**options)
      options = Options.check(options)
      types = options.fetch(:types)
      @types_by_number = types.to_h { |type| [type.type, type] }.freeze
      @types_by_class = types.to_h { |type| [type.for, type] }.freeze
      configure(options, @types_by_number.keys)
      share
    end

    # The codec that gives Documents instead of Hashes, with the same options.
    def lazy = Lazy.new(self)

    # @return [Lazy] the codec that gives Documents, with the default options
    def self.lazy = LAZY

    # @return [MessagePack] itself: it cannot change
    def dup = self
    # @return [MessagePack] itself
    def clone(**) = self

    private

    attr_reader :types_by_number, :types_by_class
    protected :types_by_number, :types_by_class

    # The value of an extension that is not a plain timestamp.
    def unpack_extension(number, payload)
      type = @types_by_number[number]
      type ? type.unpack.call(payload) : Extension.new(number, payload)
    end

    # An Extension, or something that MessagePack has a form for. Objects that have one come back as they are, where no
    # type is registered for them.
    def convert(object)
      type = type_for(object)
      return Extension.new(type.type, type.pack.call(object)) if type

      case object
      when String, Symbol, Array, Hash, Time then object
      else foreign(object)
      end
    end

    def type_for(object)
      return if @types_by_class.nil? || @types_by_class.empty?

      @types_by_class[object.class] || @types_by_class[object.class.ancestors.find { |ancestor| @types_by_class[ancestor] }]
    end

    # The extension values of the gem msgpack.
    def foreign(object)
      return Extension.new(object.type, object.payload) if object.instance_of?(gem_extension_class)

      raise EncodeError, "MessagePack has no form for #{describe(object)}; register an ExtensionType for its class"
    end

    def gem_extension_class
      defined?(::MessagePack::ExtensionValue) ? ::MessagePack::ExtensionValue : Extension
    end

    def describe(object)
      object.is_a?(Integer) ? "an Integer beyond 64 bits" : "a #{object.class}"
    end
  end

  MessagePack::LAZY = MessagePack.new.lazy
end
