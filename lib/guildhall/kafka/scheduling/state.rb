# frozen_string_literal: true

require "guildhall/json"

module Guildhall
  module Kafka
    module Scheduling
      # The state of a schedule, as the records of its topic give it: of each task its last run, and whether it is enabled. The topic is
      # compacted: each key's last record is enough. All who read it get the same state.
      class State
        # A due time of a task, and its outcome. id: of the attempt, a process knows its own by it; follows: the id of the attempt at the
        # same due time that was cut off; due: seconds since 1970, in :added when the task was seen first; state: :added, :running, :done,
        # :failed, :skipped, or :released (claimed, but not begun); at: when that was, in seconds since 1970; by: the process.
        Run = Data.define(:id, :follows, :due, :state, :at, :by, :error) do
          def initialize(state:, follows: nil, error: nil, **) = super(state: state.to_sym, follows:, error:, **)

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
        Switch = Data.define(:enabled, :at)
        STATES = %w[added running done failed skipped released].freeze
        ENABLED = Switch.new(enabled: true, at: 0.0)
        private_constant :STATES, :ENABLED

        def self.run_record(name, run) = ["run:#{name}", JSON.encode(run.to_h.compact)]
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

          case [kind, fields.transform_keys(&:to_sym)] # anybody may write into the topic
          in ["run", {id: String, due: Integer, state: String => state, at: Numeric, by: _} => fields] if STATES.include?(state)
            run = Run.new(**fields.slice(*Run.members))
            [name, @runs[name] = run] if run.after?(@runs[name])
          in ["switch", {enabled: true | false => enabled, at: Numeric => at}]
            @switches[name] = Switch.new(enabled:, at:)
            nil
          else nil
          end
        rescue DecodeError
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

        def running = @runs.select { |_, run| run.running? }

        private

        def switch(name) = @switches.fetch(name, ENABLED)
      end
    end
  end
end
