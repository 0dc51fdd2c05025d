# frozen_string_literal: true

require "etc"
require_relative "../native_threads"
require_relative "../option_rules"

module Guildhall
  class Pool
    # A pool's settings: validated together, then frozen.
    class Settings
      DEFAULTS = {
        workers: nil, capacity: 100_000, overflow: :defer, overflow_timeout: 5, parallel: nil, min_payloads: nil, slice: nil,
        deadline: nil, max_abandoned: 2, breaker_deaths: 10, breaker_window: 10, breaker_pause: 30, logger: nil, exit_timeout: 1
      }.freeze
      MAX_WORKERS = 1024 # each is a Ractor and a thread; more than there are cores do not make anything faster
      WORKERS = if NativeThreads::MAIN_RACTOR_ONLY
                  OptionRules.rule("0") { |value| value.eql?(0) || "must be 0, not #{value.inspect}: #{NativeThreads::ADVICE}" }
                else
                  OptionRules.integer(0.., ceiling: MAX_WORKERS)
                end
      RULES = OptionRules.new(
        "setting",
        workers: WORKERS.or(nil), capacity: OptionRules.integer, # payloads
        overflow: OptionRules.one_of(:defer, :wait, :reject), overflow_timeout: OptionRules.seconds,
        parallel: OptionRules.one_of(true, false, nil),
        min_payloads: OptionRules.integer.or(nil), slice: OptionRules.integer.or(nil), deadline: OptionRules.seconds.or(nil),
        max_abandoned: OptionRules.integer(0..), breaker_deaths: OptionRules.integer, breaker_window: OptionRules.seconds,
        breaker_pause: OptionRules.seconds, logger: OptionRules.object("a Logger", :info).or(nil),
        exit_timeout: OptionRules.seconds(zero: true)
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
  end
end
