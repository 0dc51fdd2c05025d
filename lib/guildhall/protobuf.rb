# frozen_string_literal: true

require_relative "codec"
require_relative "errors"
require_relative "document"
require_relative "option_rules"
require_relative "shareable"
require_relative "soft_dependency"
require_relative "text/limit"
Guildhall::SoftDependency.require!("google/protobuf", gem: "google-protobuf", purpose: "Guildhall::Protobuf")

module Guildhall
  # Protobuf by the gem google-protobuf: bytes to frozen, shareable Hashes. The codec is frozen and shareable, but that gem
  # refuses to run outside the main Ractor: a pool runs this codec in its callers' threads, and says so ({#inline_reason}).
  #
  # @example
  #   codec = Guildhall::Protobuf.new(Shop::Order)                     # a class that protoc has generated
  #   codec.decode(bytes)                                              # => {"id" => 1, "items" => [{"sku" => "a"}]}
  #   set = File.binread("shop.pb")                                    # protoc --include_imports --descriptor_set_out=shop.pb
  #   Guildhall::Protobuf.new(set, message: "shop.Order").decode(bytes)
  class Protobuf
    include Codec

    autoload :Confluent, File.expand_path("protobuf/confluent.rb", __dir__)

    INLINE_REASON = "google-protobuf refuses to run outside the main Ractor"
    MOST_LEVELS = 1_000 # of an object to encode: it may contain itself
    RULES = OptionRules.new(symbolize_names: OptionRules.boolean, max_bytes: OptionRules.bytes)
    private_constant :INLINE_REASON, :MOST_LEVELS, :RULES

    # @return [Class] of the messages
    attr_reader :message_class

    # @param source [Class, String] a generated class, or a FileDescriptorSet's bytes
    # @param message [String, nil] the full name of the message in the FileDescriptorSet
    # @param symbolize_names [Boolean] names of fields as Symbols
    # @param max_bytes [Integer] longer payloads are refused
    # @raise [Guildhall::ArgumentError] where the message is not there, or an option is wrong
    # @raise [MissingDependencyError] naming the gem
    def initialize(source, message: nil, symbolize_names: false, max_bytes: Text::Limit::DEFAULT_BYTES)
      RULES.check!({symbolize_names:, max_bytes:}, owner: "Guildhall::Protobuf")
      @limit = Text::Limit.new("Protobuf", max_bytes)
      @message_class = source.is_a?(Class) ? source : Descriptors.of_set(source).message(message)
      unless @message_class.respond_to?(:descriptor)
        raise Guildhall::ArgumentError, "#{@message_class} is not a class of Protobuf messages: protoc generates those"
      end

      Descriptors.make_classes(@message_class.descriptor)
      @symbolize_names = symbolize_names
      Ractor.make_shareable(self)
    end

    # @return [Hash] frozen and shareable. A field that tracks presence is there where it was set; every other field is
    #   there, with its default where the payload does not have it, as a reader of the message gives it. Values of enums
    #   are Symbols, or Integers where the schema does not know them
    # @raise [DecodeError]
    def decode(bytes)
      Ractor.make_shareable(plain(@message_class.decode(@limit.check(bytes))))
    rescue Google::Protobuf::ParseError => error
      raise DecodeError.new("not a #{@message_class.descriptor.name}: #{error.message}", codec: "Protobuf")
    end

    # @param object [Hash, Document, Google::Protobuf::MessageExts] with String or Symbol keys; Documents at any depth
    # @return [String] frozen, binary
    # @raise [EncodeError]
    def encode(object)
      message = object.is_a?(@message_class) ? object : @message_class.new(fields_of(object))
      @message_class.encode(message).freeze
    rescue ::ArgumentError, TypeError, RangeError, NoMethodError, EncodingError, RuntimeError, Google::Protobuf::Error => error
      raise EncodeError.new("Protobuf: not a #{@message_class.descriptor.name}: #{Redaction.mask(error.message)}", excerpt: error.message)
    end

    # @return [String] why pools run this codec in their callers' threads
    def inline_reason = INLINE_REASON

    def inspect = "#<#{self.class} #{@message_class.descriptor.name}>"

    private

    def fields_of(object)
      return object.to_h if object.is_a?(Google::Protobuf::MessageExts)

      Document.unshared(Hash.try_convert(object) || raise(TypeError, "its fields are a Hash, not #{object.class}"), MOST_LEVELS)
    end

    # A Map's own `to_h` would make Hashes of the messages in it, in its own way.
    def plain(value)
      case value
      when Google::Protobuf::MessageExts then fields(value)
      when Google::Protobuf::RepeatedField then value.map { |inner| plain(inner) }
      when Google::Protobuf::Map then value.each_with_object({}) { |(key, inner), hash| hash[key] = plain(inner) }
      else value
      end
    end

    def fields(message)
      message.class.descriptor.each_with_object({}) do |field, hash|
        next if field.has_presence? && !field.has?(message)

        hash[@symbolize_names ? field.name.to_sym : field.name] = plain(field.get(message))
      end
    end
  end
end

require_relative "protobuf/descriptors"
