# frozen_string_literal: true

require_relative "codec"
require_relative "errors"
require_relative "shareable"
require_relative "soft_dependency"
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

    MAX_BYTES = 64 * 1024 * 1024
    INLINE_REASON = "google-protobuf refuses to run outside the main Ractor"
    private_constant :MAX_BYTES, :INLINE_REASON

    # @return [Class] of the messages
    attr_reader :message_class

    # @param source [Class, String] a generated class, or a FileDescriptorSet's bytes
    # @param message [String, nil] the full name of the message in the FileDescriptorSet
    # @param symbolize_names [Boolean] names of fields as Symbols
    # @param max_bytes [Integer] longer payloads are refused
    # @raise [Guildhall::ArgumentError] where the message is not there
    # @raise [MissingDependencyError] naming the gem
    def initialize(source, message: nil, symbolize_names: false, max_bytes: MAX_BYTES)
      @message_class = source.is_a?(Class) ? source : Descriptors.of_set(source).message(message)
      unless @message_class.respond_to?(:descriptor)
        raise Guildhall::ArgumentError, "#{@message_class} is not a class of Protobuf messages: protoc generates those"
      end

      Descriptors.make_classes(@message_class.descriptor)
      @symbolize_names = symbolize_names
      @max_bytes = max_bytes
      Ractor.make_shareable(self)
    end

    # @param bytes [String]
    # @return [Hash] frozen and shareable. A field that tracks presence is there where it was set; every other field is
    #   there, with its default where the payload does not have it, as a reader of the message gives it. Values of enums
    #   are Symbols, or Integers where the schema does not know them
    # @raise [DecodeError]
    def decode(bytes)
      raise DecodeError.new("longer than max_bytes (#{@max_bytes})", codec: "Protobuf") if bytes.bytesize > @max_bytes

      Ractor.make_shareable(plain(@message_class.decode(bytes)))
    rescue Google::Protobuf::ParseError => error
      raise DecodeError.new("not a #{@message_class.descriptor.name}: #{error.message}", codec: "Protobuf")
    end

    # @param object [Hash, Google::Protobuf::MessageExts] with String or Symbol keys
    # @return [String] frozen, binary
    # @raise [EncodeError]
    def encode(object)
      message = object.is_a?(@message_class) ? object : @message_class.new(object.to_h)
      @message_class.encode(message).freeze
    rescue ::ArgumentError, TypeError, RangeError, NoMethodError, Google::Protobuf::Error => error
      raise EncodeError, "Protobuf: not a #{@message_class.descriptor.name}: #{error.message}"
    end

    # @return [String] why pools run this codec in their callers' threads
    def inline_reason = INLINE_REASON

    # @return [String]
    def inspect = "#<#{self.class} #{@message_class.descriptor.name}>"

    private

    def plain(value)
      case value
      when Google::Protobuf::MessageExts then fields(value)
      when Google::Protobuf::RepeatedField then value.map { |inner| plain(inner) }
      when Google::Protobuf::Map then value.to_h.transform_values { |inner| plain(inner) }
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
