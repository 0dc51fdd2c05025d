# frozen_string_literal: true

require_relative "../option_rules"

module Guildhall
  class Pool
    # The options of the pool's methods.
    module Options
      RULES = OptionRules.new(
        source: OptionRules.rule("any object") { true }, metadata: OptionRules.kind("an Array", Array).or(nil),
        records: OptionRules.boolean, prepare: OptionRules.boolean, parallel: OptionRules.one_of(true, false, nil),
        deadline: OptionRules.seconds.or(nil), retry: OptionRules.boolean, slice: OptionRules.integer.or(nil),
        min_payloads: OptionRules.integer.or(nil), priority: OptionRules.integer(1..1_000_000),
        timeout: OptionRules.seconds(zero: true).or(nil),
        progress: OptionRules.rule("a title or a callable") { it.is_a?(String) || it.respond_to?(:call) }.or(true, false, nil),
        chunk: OptionRules.integer.or(nil), ahead: OptionRules.integer.or(nil), ordered: OptionRules.boolean,
        combine: OptionRules.rule("a Symbol or a callable") { it.is_a?(Symbol) || it.respond_to?(:call) }.or(nil)
      )
      DISPATCH = %i[source metadata records prepare parallel deadline retry slice min_payloads priority].freeze
      MAP = [*DISPATCH, :timeout, :progress].freeze
      MAP_WITH_INDEX = (MAP - %i[metadata records]).freeze
      RENDER = MAP_WITH_INDEX
      STREAM = [*(MAP - [:metadata]), :chunk, :ahead, :ordered].freeze
      REDUCE = [*(STREAM - %i[ordered records]), :combine].freeze
      private_constant :RULES

      # @param allowed [Array<Symbol>] the options of the method that was called
      # @return [Hash] the same
      # @raise [Guildhall::ArgumentError] naming every option that is wrong
      def self.check!(options, allowed)
        options.empty? ? options : RULES.check!(options, names: allowed)
      end

      # @return [Array(Hash, Hash)] what {Pool#dispatch} takes, and the rest
      def self.split(options)
        options.partition { |name, _| DISPATCH.include?(name) }.map(&:to_h)
      end
    end
  end
end
