# frozen_string_literal: true

require "etc"
require_relative "../native_threads"
require_relative "../option_rules"

module Guildhall
  class Pool
    # A pool's settings: validated together, then frozen.
    class Settings
      DEFAULTS = {workers: nil, capacity: 100_000, overflow: :defer, overflow_timeout: 5, deadline: nil, logger: nil}.freeze
      MAX_WORKERS = 1024 # each is a Ractor and a thread; more than there are cores do not make anything faster
      # @api private
      WORKERS = if NativeThreads::MAIN_RACTOR_ONLY
                  OptionRules.rule("0") { |value| value.eql?(0) || "must be 0, not #{value.inspect}: #{NativeThreads::ADVICE}" }
                else
                  OptionRules.integer(0.., ceiling: MAX_WORKERS)
                end
      RULES = OptionRules.new(
        "setting",
        workers: WORKERS.or(nil), capacity: OptionRules.integer, # payloads
        overflow: OptionRules.one_of(:defer, :wait, :reject), overflow_timeout: OptionRules.seconds,
        deadline: OptionRules.seconds.or(nil), logger: OptionRules.object("a Logger", :info).or(nil)
      )
      private_constant :DEFAULTS, :RULES, :MAX_WORKERS

      attr_reader(*DEFAULTS.keys)

      # How many workers pay off here: a core each, as far as Ruby has native threads for them (`RUBY_MAX_CPU`). 0 where Ruby runs no
      # Ractors (3.4 with `RUBY_MAX_CPU=1`).
      def self.default_workers
        NativeThreads::MAIN_RACTOR_ONLY ? 0 : [Etc.nprocessors, NativeThreads::FOR_WORKERS].min
      end

      # @param settings [Hash] over {DEFAULTS}; docs/pool.md explains them
      # @raise [ConfigurationError] naming everything that is wrong
      def initialize(**settings)
        RULES.check!(settings, owner: "pool", error: ConfigurationError)
        DEFAULTS.merge(settings).each { |name, value| instance_variable_set(:"@#{name}", value) }
        @workers ||= self.class.default_workers
        freeze
      end
    end

    # Values that are the same for every pool. Tests give theirs others: `Pool.new(limits: Pool::Limits.new(breaker_deaths: 3))`.
    # @api private
    Limits = Data.define(:max_abandoned, :breaker_deaths, :breaker_window, :breaker_pause, :exit_timeout) do
      # @param max_abandoned [Integer] workers stuck beyond their deadline that are replaced: each may use a core for ever, and two are
      #   enough to outlast an accident, while a task that never ends must not fill the machine with Ractors
      # @param breaker_deaths [Integer] worker crashes within `breaker_window` seconds that open the circuit breaker: fewer are accidents,
      #   and a worker that dies at once would be replaced some thousand times in that time
      # @param breaker_pause [Numeric] seconds for which it is open: long enough for the log to be read, and to cost nothing
      # @param exit_timeout [Numeric] seconds for workers at the end of the process: what they still do, nobody reads
      def initialize(max_abandoned: 2, breaker_deaths: 10, breaker_window: 10, breaker_pause: 30, exit_timeout: 1) = super
    end

    # The options of the pool's methods.
    # @api private
    module Options
      RULES = OptionRules.new(
        source: OptionRules.rule("any object") { true }, metadata: OptionRules.kind("an Array", Array).or(nil),
        records: OptionRules.boolean, prepare: OptionRules.boolean, parallel: OptionRules.one_of(true, false, nil),
        deadline: OptionRules.seconds.or(nil), retry: OptionRules.boolean, slice: OptionRules.integer.or(nil),
        priority: OptionRules.integer(1..1_000_000), timeout: OptionRules.seconds(zero: true).or(nil),
        progress: OptionRules.rule("a title or a callable") { it.is_a?(String) || it.respond_to?(:call) }.or(true, false, nil),
        chunk: OptionRules.integer.or(nil), ordered: OptionRules.boolean,
        combine: OptionRules.rule("a Symbol or a callable") { it.is_a?(Symbol) || it.respond_to?(:call) }.or(nil)
      )
      DISPATCH = %i[source metadata records prepare parallel deadline retry slice priority].freeze
      MAP = [*DISPATCH, :timeout, :progress].freeze
      MAP_WITH_INDEX = (MAP - %i[metadata records]).freeze
      RENDER = MAP_WITH_INDEX
      STREAM = [*(MAP - [:metadata]), :chunk, :ordered].freeze
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
