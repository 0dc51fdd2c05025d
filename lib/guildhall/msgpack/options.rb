# frozen_string_literal: true

module Guildhall
  class MessagePack
    # The options of a codec, and what they are when they are not given.
    #
    # - `symbolize_keys` (false): String keys of maps as Symbols
    # - `allow_unknown_ext` (false): extensions of types that are not registered come as an {Extension}; else they
    #   are an error
    # - `allow_invalid_utf8` (true, as the gem does): texts are taken as they are; false: they must be valid UTF-8
    # - `max_nesting` (128): how deep arrays and maps may be nested, when decoding and when encoding; 512 at most
    # - `max_bytes` (64 MiB): longer payloads are refused; 268,435,455 at most
    # - `types` ([]): {ExtensionType}s
    module Options
      DEFAULTS = {
        symbolize_keys: false, allow_unknown_ext: false, allow_invalid_utf8: true, max_nesting: 128,
        max_bytes: 64 * 1024 * 1024, types: [].freeze
      }.freeze
      RANGES = {max_nesting: 1..512, max_bytes: 1..268_435_455}.freeze

      # @param given [Hash{Symbol=>Object}]
      # @return [Hash{Symbol=>Object}] every option
      # @raise [Guildhall::ArgumentError] naming all faults
      def self.check(given)
        faults = given.filter_map { |name, value| fault(name, value) }
        raise Guildhall::ArgumentError, "Guildhall::MessagePack: #{faults.join("; ")}" if faults.any?

        DEFAULTS.merge(given)
      end

      class << self
        private

        def fault(name, value)
          return "unknown option #{name.inspect} (there are #{DEFAULTS.keys.join(", ")})" unless DEFAULTS.key?(name)
          return types_fault(value) if name == :types
          return range_fault(name, value, RANGES[name]) if RANGES.key?(name)

          "#{name} is true or false, not #{value.inspect}" unless [true, false].include?(value)
        end

        def range_fault(name, value, range)
          return if value.is_a?(Integer) && range.cover?(value)

          "#{name} is an Integer from #{range.begin} to #{range.end}, not #{value.inspect}"
        end

        def types_fault(types)
          return "types is an Array of ExtensionTypes" unless types.is_a?(Array) && types.all?(ExtensionType)

          doubled = types.map(&:type).tally.select { |_, count| count > 1 }.keys
          "types has more than one type #{doubled.join(", ")}" if doubled.any?
        end
      end
    end
  end
end
