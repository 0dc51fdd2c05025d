# frozen_string_literal: true

require "guildhall/json"
require_relative "../errors"

module Guildhall
  module Kafka
    module Scheduling
      # The state of a schedule, as the records of its topic give it: of each task its last run at a due time, its last run that somebody
      # has asked for, and whether it is enabled. The topic is compacted: each key's last record is enough. All who read it get the same
      # state.
      class State
        # A due time of a task, and its outcome. id: of the attempt, a process knows its own by it; follows: the id of the attempt at the
        # same due time that was cut off; due: seconds since 1970, in :added when the task was seen first; state: :added, :asked (somebody
        # wants it to run), :running, :done, :failed, :skipped, or :released (claimed, but not begun); at: when that was, in seconds since
        # 1970; by: the process, of :asked whoever asks.
        Run = Data.define(:id, :follows, :due, :state, :at, :by, :error) do
          def initialize(state:, follows: nil, error: nil, **) = super(state: state.to_sym, follows:, error:, **)

          # Whether a process has claimed it and not finished it.
          def running? = state == :running

          # Whether no process has to check this due time again.
          def over? = !%i[released asked].include?(state)

          # Whether this run counts where it is read after the run `before`: the first claim of a due time does.
          def after?(before)
            before.nil? || due > before.due || id == before.id || (due == before.due && (follows == before.id || !before.over?))
          end
        end
        # Whether a task is enabled, and since when.
        # @api private
        Switch = Data.define(:enabled, :at)
        VERSION = 1 # of the records; one that names none has the first
        STATES = %w[added asked running done failed skipped released].freeze
        # Kinds of runs, by how their keys begin: at due times, and those that were asked for, which change no due time.
        KINDS = {"run" => :due, "ask" => :asked}.freeze
        ENABLED = Switch.new(enabled: true, at: 0.0)
        private_constant :VERSION, :STATES, :KINDS, :ENABLED

        # @param kind [Symbol] :due or :asked
        def self.run_record(name, run, kind = :due) = ["#{KINDS.key(kind)}:#{name}", JSON.encode({v: VERSION, **run.to_h.compact})]
        def self.switch_record(name, enabled) = ["switch:#{name}", JSON.encode({v: VERSION, enabled:, at: Time.now.to_f})]

        def initialize
          @runs = KINDS.values.to_h { |kind| [kind, {}] }
          @switches = {}
          @read_to = 0
        end

        # A message that was read before changes nothing.
        # @raise [NewerFormatError] because a run that is not known of would be done again
        # @return [Array(Symbol, String, Run), nil] :due or :asked, a task and its run, where that has changed
        def read(message)
          return if message.offset < @read_to

          @read_to = message.offset + 1
          kind, name = message.raw_key.to_s.split(":", 2)
          return if message.tombstone? || name.nil?

          fields = JSON.decode(message.raw_payload)
          return unless fields.is_a?(Hash)

          NewerFormatError.check!("the record of task #{name} in the schedule's topic", fields["v"], VERSION)
          case [kind, fields.transform_keys(&:to_sym)] # anybody may write into the topic
          in ["run" | "ask", {id: String, due: Integer, state: String => state, at: Numeric, by: _} => fields] if STATES.include?(state)
            run = Run.new(**fields.slice(*Run.members))
            runs = @runs[KINDS.fetch(kind)]
            [KINDS.fetch(kind), name, runs[name] = run] if run.after?(runs[name])
          in ["switch", {enabled: true | false => enabled, at: Numeric => at}]
            @switches[name] = Switch.new(enabled:, at:)
            nil
          else nil
          end
        rescue DecodeError
          nil # not written by a schedule
        end

        # @param kind [Symbol] :due or :asked
        # @return [Run, nil] the task's last one; nil: no process has run it yet, or nobody has asked for it
        def run(name, kind = :due) = @runs.fetch(kind)[name]
        def enabled?(name) = switch(name).enabled

        # A due time that passed while the task was disabled is not made up for.
        # @return [Numeric, nil] after which time the task's due times count, in seconds since 1970; nil: it was never seen
        def since(name)
          run = run(name) or return
          [run.over? ? run.due : run.due - 1, switch(name).at].max
        end

        # @return [Hash{Array(Symbol, String)=>Run}] by kind and task
        def running = @runs.flat_map { |kind, runs| runs.map { |name, run| [[kind, name], run] } }.to_h.select { |_, run| run.running? }

        private

        def switch(name) = @switches.fetch(name, ENABLED)
      end
    end
  end
end
