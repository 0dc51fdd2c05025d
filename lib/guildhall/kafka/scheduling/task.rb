# frozen_string_literal: true

require "guildhall/option_rules"
require "guildhall/soft_dependency"
require_relative "../settings/rules"

module Guildhall
  module Kafka
    # Recurring tasks: each runs once per due time in all processes of a consumer group.
    module Scheduling
      # A recurring task of the routes, and when it is due. A due time is a number of seconds since 1970.
      class Task
        MISSED = %i[run_once skip].freeze
        # A due time that is no older does not count as missed: a rebalance may take this long.
        # @api private
        GRACE_SECONDS = 60
        # @api private
        RULES = OptionRules.new(
          name: OptionRules.rule("a name of letters, digits, spaces and . _ -") { |name| /\A[\w. -]+\z/.match?(name.b) },
          cron: Settings::Rules::NAME, missed: OptionRules.one_of(*MISSED), block: OptionRules.kind("a block", Proc)
        )
        # Seconds, minutes, hours, days, months, days of the week: steps have to be smaller.
        STEPS = [60, 60, 24, 31, 12, 7].freeze
        private_constant :MISSED, :STEPS

        # @return [String] the cron expression as the routes have it
        attr_reader :expression
        attr_reader :name, :missed

        # nil: it cannot be understood, or is never due.
        def self.cron(expression)
          SoftDependency.require!("fugit", gem: "fugit", purpose: "schedule")
          cron = expression.match?(/\A\s*[\d*]/) ? Fugit.parse_cron(expression) : Fugit.parse_cronish(expression)
          cron if cron && possible_steps?(cron)
        end

        # Fugit takes "every 90 minutes" for "*/90 * * * *", which is due each hour.
        def self.possible_steps?(cron)
          fields = cron.original.split.first(cron.original.split.size - (cron.zone ? 1 : 0))
          fields.zip(STEPS.last(fields.size)).none? { |field, limit| field[%r{/(\d+)}, 1].to_i >= limit }
        end
        private_class_method :possible_steps?

        def initialize(name, expression, cron, missed, block)
          @name = name
          @expression = expression
          @cron = cron
          @missed = missed
          @block = block
        end

        def call(due) = @block.call(Time.at(due))

        # @return [Integer] the first due time after it
        def next_due(time) = @cron.next_time(Time.at(time)).to_i

        # Several due times that have passed count as one.
        # @return [Integer, nil] the last due time; nil: none has come since
        def due(since, now)
          @cron.previous_time(Time.at(now.floor + 1)).to_i if next_due(since) <= now
        end

        # Whether a missed due time is left out.
        def skip?(due, now) = @missed == :skip && now - due > GRACE_SECONDS

        # Whether a run that was cut off is repeated.
        def repeat? = @missed == :run_once
      end

      # One task, for people. topic: the schedule's; run: the last one at a due time, asked: the last one that somebody has asked for; nil:
      # none yet.
      Status = Data.define(:task, :topic, :enabled, :run, :asked) do
        def initialize(asked: nil, **) = super

        # nil: it is disabled.
        def next_due(now = Time.now) = enabled ? Time.at(task.next_due(now.to_f)) : nil

        def last_due = run && run.state != :added ? Time.at(run.due) : nil
      end
    end
  end
end
