# frozen_string_literal: true

module Guildhall
  class MessagePack
    # How objects of a class travel as an extension. Frozen and shareable; given to {MessagePack#initialize} as `types:`.
    #
    # @example
    #   money = Guildhall::MessagePack::ExtensionType.new(1, for: Money, pack: ->(it) { it.to_s }, unpack: ->(bytes) { Money.parse(bytes) })
    #   codec = Guildhall::MessagePack.new(types: [money])
    class ExtensionType
      NUMBERS = (-128..127)

      # @return [Integer] its number
      # @return [Class, Module] whose instances, and instances of whose subclasses, travel so
      # @return [#call] object → String
      # @return [#call] binary String → object, which is then made shareable
      attr_reader :type, :for, :pack, :unpack

      # @param type [Integer] -128 to 127; those below 0 are the specification's own (-1: timestamps)
      # @raise [Guildhall::ArgumentError]
      # @raise [NotShareableError] when a callable cannot be made shareable
      def initialize(type, for:, pack:, unpack:)
        owner = binding.local_variable_get(:for)
        raise Guildhall::ArgumentError, "an extension type is an Integer from -128 to 127, not #{type.inspect}" unless NUMBERS === type
        raise Guildhall::ArgumentError, "for: is a Class or Module, not #{owner.inspect}" unless owner.is_a?(Module)

        callable = [pack, unpack].all? { |one| one.respond_to?(:call) }
        raise Guildhall::ArgumentError, "pack: and unpack: are objects with `call`" unless callable

        @type = type
        @for = owner
        @pack = Shareable.callable!(pack, "pack")
        @unpack = Shareable.callable!(unpack, "unpack")
        freeze
      end
    end
  end
end
