# frozen_string_literal: true

require "guildhall/json"
require "guildhall/option_rules"

module Guildhall
  module Kafka
    module Scheduling
      # The state of a schedule, as the records of its topic give it: of each task its last run, and whether it is enabled. The topic is
      # compacted: each key's last record is enough. All who read it get the same state.
      class State
        # A due time of a task, and its outcome.
        #
        # @!attribute [r] id
        #   @return [String] of the attempt: a process knows its own by it
        # @!attribute [r] follows
        #   @return [String, nil] the id of the attempt at the same due time that was cut off
        # @!attribute [r] due
        #   @return [Integer] seconds since 1970; in :added when the task was seen first
        # @!attribute [r] state
        #   @return [Symbol] :added, :running, :done, :failed, :skipped, or :released (claimed, but not begun)
        # @!attribute [r] at
        #   @return [Float] when that was, in seconds since 1970
        # @!attribute [r] by
        #   @return [String] the process
        Run = Data.define(:id, :follows, :due, :state, :at, :by, :error) do
          # @raise [Guildhall::ArgumentError]
          def initialize(id:, due:, state:, at:, follows: nil, error: nil, **)
            FIELDS.check!({id:, due:, state: state.to_s, at:}, owner: "run")
            super(id:, due:, state: state.to_sym, at:, follows:, error:, **)
          end

          # Whether a process has claimed it and not finished it.
          def running? = state == :running

          # Whether no process has to check this due time again.
          def over? = state != :released

          # Whether this run counts where it is read after the run `before`: the first claim of a due time does.
          def after?(before)
            before.nil? || due > before.due || id == before.id || (due == before.due && (follows == before.id || !before.over?))
          end
        end
        # Whether a task is enabled, and since when.
        Switch = Data.define(:enabled, :at) do
          # @raise [Guildhall::ArgumentError]
          def initialize(enabled:, at:)
            SWITCH_FIELDS.check!({enabled:, at:}, owner: "switch")
            super
          end
        end
        # Anybody may write into the topic: the fields of its records are checked.
        TIME = OptionRules.kind("seconds since 1970", Numeric)
        FIELDS = OptionRules.new(id: OptionRules.kind("a String", String), due: OptionRules.kind("an Integer", Integer),
          state: OptionRules.one_of("added", "running", "done", "failed", "skipped", "released"), at: TIME)
        SWITCH_FIELDS = OptionRules.new(enabled: OptionRules.boolean, at: TIME)
        ENABLED = Switch.new(enabled: true, at: 0.0)
        private_constant :TIME, :FIELDS, :SWITCH_FIELDS, :ENABLED

        # @return [Array(String, String)] key and payload of the record
        def self.run_record(name, run) = ["run:#{name}", JSON.encode(run.to_h.compact)]

        # @return [Array(String, String)] key and payload of the record
        def self.switch_record(name, enabled) = ["switch:#{name}", JSON.encode({enabled:, at: Time.now.to_f})]

        def initialize
          @runs = {}
          @switches = {}
          @read_to = 0
        end

        # A message that was read before changes nothing.
        # @return [Array(String, Run), nil] a task and its run, where that has changed
        def read(message)
          return if message.offset < @read_to

          @read_to = message.offset + 1
          kind, name = message.raw_key.to_s.split(":", 2)
          return if message.tombstone? || name.nil?

          fields = JSON.decode(message.raw_payload)
          return unless fields.is_a?(Hash)

          fields = fields.transform_keys(&:to_sym)
          return read_run(name, Run.new(**fields.slice(*Run.members))) if kind == "run"

          @switches[name] = Switch.new(**fields.slice(*Switch.members))
          nil
        rescue DecodeError, ::ArgumentError
          nil # not written by a schedule
        end

        # @return [Run, nil] the task's last one; nil: no process has run it yet
        def run(name) = @runs[name]

        def enabled?(name) = switch(name).enabled

        # A due time that passed while the task was disabled is not made up for.
        # @return [Numeric, nil] after which time the task's due times count, in seconds since 1970; nil: it was never seen
        def since(name)
          run = @runs[name] or return
          [run.over? ? run.due : run.due - 1, switch(name).at].max
        end

        # @return [Hash{String=>Run}] runs that were not finished
        def running = @runs.select { |_, run| run.running? }

        private

        def switch(name) = @switches.fetch(name, ENABLED)

        def read_run(name, run)
          [name, @runs[name] = run] if run.after?(@runs[name])
        end
      end
    end
  end
end
