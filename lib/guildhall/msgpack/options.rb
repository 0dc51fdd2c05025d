# frozen_string_literal: true

require_relative "../option_rules"

module Guildhall
  class MessagePack
    # The options of a codec, and what they are when they are not given.
    #
    # - `symbolize_names` (false): keys of maps that are strings or binary as Symbols; `symbolize_keys`, as the gem calls it, is the same
    # - `allow_unknown_ext` (false): extensions of types that are not registered come as an {Extension}; else they
    #   are an error
    # - `allow_invalid_utf8` (true, as the gem does): texts are taken as they are; false: they must be valid UTF-8
    # - `max_nesting` (128): how deep arrays and maps may be nested, when decoding and when encoding; 512 at most
    # - `max_bytes` (64 MiB): longer payloads are refused; 268,435,455 at most
    # - `types` ([]): {ExtensionType}s
    # @api private
    module Options
      DEFAULTS = {
        symbolize_names: false, allow_unknown_ext: false, allow_invalid_utf8: true, max_nesting: 128,
        max_bytes: 64 * 1024 * 1024, types: [].freeze
      }.freeze
      OTHER_NAMES = {symbolize_keys: :symbolize_names}.freeze
      RULES = OptionRules.new(
        **%i[symbolize_names symbolize_keys allow_unknown_ext allow_invalid_utf8].to_h { |name| [name, OptionRules.boolean] },
        max_nesting: OptionRules.integer(1..512), max_bytes: OptionRules.integer(1..268_435_455),
        types: OptionRules.rule("an Array of ExtensionTypes, one for each number") do |types|
          types.is_a?(Array) && types.all?(ExtensionType) && types.uniq(&:type).size == types.size
        end
      )
      private_constant :RULES

      # @return [Hash{Symbol=>Object}] every option
      # @raise [Guildhall::ArgumentError] naming every option that is wrong
      def self.check(given)
        RULES.check!(given, owner: "Guildhall::MessagePack")
        other, name = OTHER_NAMES.find { |names| names.all? { |one| given.key?(one) } }
        raise Guildhall::ArgumentError, "Guildhall::MessagePack: #{other} and #{name} are the same" if other

        DEFAULTS.merge(given.transform_keys(OTHER_NAMES))
      end
    end
  end
end
