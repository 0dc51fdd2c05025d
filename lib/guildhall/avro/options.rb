# frozen_string_literal: true

require_relative "../option_rules"

module Guildhall
  class Avro
    # The options of a codec, and what they are when they are not given.
    #
    # - `logical_types` (true): which become Ruby values: all of {Logical::NAMES}, none (false), or an Array of names.
    #   {Logical::OF_GEM} is what the gem avro does
    # - `symbolize_names` (false): the keys of records as Symbols; those of maps stay Strings
    # - `tagged_unions` (false): a record that is a branch of a union comes as a {Branch}, which says its name. (A Document of
    #   a record says it by itself: {MapDocument#type_name}.)
    # - `allow_invalid_utf8` (true, as the gem does): strings are taken as they are; false: they must be valid UTF-8
    # - `strict_schemas` (nil): which schemas are checked in full, names and defaults included: nil: those that the application gives,
    #   not those that a registry or a file already has; true: all; false: none. See {Schema.parse}
    # - `max_nesting` (256): records, arrays and maps within each other, when decoding and when encoding; 1000 at most
    # - `max_bytes` (64 MiB): longer payloads are refused; 268,435,455 at most
    # - `max_empty_items` (65,536): items that take no byte, such as nulls, in all arrays of a payload together; of a record
    #   each field counts too
    # @api private
    module Options
      DEFAULTS = {
        logical_types: true, symbolize_names: false, tagged_unions: false, allow_invalid_utf8: true, strict_schemas: nil,
        max_nesting: 256, max_bytes: 64 * 1024 * 1024, max_empty_items: 65_536
      }.freeze
      RULES = OptionRules.new(
        **%i[symbolize_names tagged_unions allow_invalid_utf8].to_h { |name| [name, OptionRules.boolean] },
        logical_types: OptionRules.rule("true, false or an Array of #{Logical::NAMES.join(", ")}") do |names|
          [true, false].include?(names) || (names.is_a?(Array) && (names - Logical::NAMES).empty?)
        end,
        strict_schemas: OptionRules.boolean.or(nil),
        max_nesting: OptionRules.integer(1..1000), max_bytes: OptionRules.integer(1..268_435_455),
        max_empty_items: OptionRules.integer(0..100_000_000)
      )
      private_constant :RULES

      # @param owner [Class] which takes them
      # @return [Hash{Symbol=>Object}] every option
      # @raise [Guildhall::ArgumentError] naming every option that is wrong
      def self.check(given, owner = Avro)
        DEFAULTS.merge(RULES.check!(given, owner: owner.name, beside: owner))
      end

      # @api private
      # @param options [Hash{Symbol=>Object}] checked
      # @param given [Boolean] whether a schema is the application's own; false: a registry or a file has it already
      # @return [Boolean] whether that schema is checked in full
      def self.strict?(options, given:)
        strict = options.fetch(:strict_schemas)
        strict.nil? ? given : strict
      end
    end
  end
end
