# frozen_string_literal: true

module Guildhall
  class MessagePack
    # The options of a codec, and what they are when they are not given.
    #
    # - `symbolize_names` (false): String keys of maps as Symbols; `symbolize_keys`, as the gem calls it, is the same
    # - `allow_unknown_ext` (false): extensions of types that are not registered come as an {Extension}; else they
    #   are an error
    # - `allow_invalid_utf8` (true, as the gem does): texts are taken as they are; false: they must be valid UTF-8
    # - `max_nesting` (128): how deep arrays and maps may be nested, when decoding and when encoding; 512 at most
    # - `max_bytes` (64 MiB): longer payloads are refused; 268,435,455 at most
    # - `types` ([]): {ExtensionType}s
    module Options
      DEFAULTS = {
        symbolize_names: false, allow_unknown_ext: false, allow_invalid_utf8: true, max_nesting: 128,
        max_bytes: 64 * 1024 * 1024, types: [].freeze
      }.freeze
      OTHER_NAMES = {symbolize_keys: :symbolize_names}.freeze
      RANGES = {max_nesting: 1..512, max_bytes: 1..268_435_455}.freeze

      # @param given [Hash{Symbol=>Object}]
      # @return [Hash{Symbol=>Object}] every option
      # @raise [Guildhall::ArgumentError] naming every option that is wrong
      def self.check(given)
        errors = given.filter_map { |name, value| error(name, value) }
        OTHER_NAMES.each { |other, name| errors << "#{other} and #{name} are the same" if given.key?(other) && given.key?(name) }
        raise Guildhall::ArgumentError, "Guildhall::MessagePack: #{errors.join("; ")}" if errors.any?

        DEFAULTS.merge(given.transform_keys(OTHER_NAMES))
      end

      class << self
        private

        def error(name, value)
          known = DEFAULTS.key?(OTHER_NAMES.fetch(name, name))
          return "unknown option #{name.inspect} (there are #{DEFAULTS.keys.join(", ")})" unless known
          return types_error(value) if name == :types
          return range_error(name, value, RANGES[name]) if RANGES.key?(name)

          "#{name} is true or false, not #{value.inspect}" unless [true, false].include?(value)
        end

        def range_error(name, value, range)
          return if value.is_a?(Integer) && range.cover?(value)

          "#{name} is an Integer from #{range.begin} to #{range.end}, not #{value.inspect}"
        end

        def types_error(types)
          return "types is an Array of ExtensionTypes" unless types.is_a?(Array) && types.all?(ExtensionType)

          doubled = types.map(&:type).tally.select { |_, count| count > 1 }.keys
          "types has more than one type #{doubled.join(", ")}" if doubled.any?
        end
      end
    end
  end
end
