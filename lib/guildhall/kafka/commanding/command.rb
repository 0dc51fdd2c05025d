# frozen_string_literal: true

require "time"
require "guildhall/json"
require "guildhall/printable"
require_relative "../errors"

module Guildhall
  module Kafka
    # Commands to running processes: pause a partition, seek, stop a process. They come as records of a topic of their own, signed.
    module Commanding
      TOPIC = "guildhall.commands"
      # Of partitions, and of processes. Each sets a state, none toggles: what comes twice does no more than what comes once.
      PARTITION_ACTIONS = %i[pause resume retry seek].freeze
      PROCESS_ACTIONS = %i[quiet resume stop trace].freeze
      ACTIONS = (PARTITION_ACTIONS | PROCESS_ACTIONS).freeze
      TARGET = %i[process group topic partition].freeze # what names one

      # What somebody wants of a process. The value of its record is JSON, and the record's header {SIGNATURE} signs these bytes.
      #
      # @!attribute [r] id
      #   @return [String] a process carries out one of each id
      # @!attribute [r] at
      #   @return [Float] when it was made, in seconds since 1970
      # @!attribute [r] expires
      #   @return [Float] for how many seconds it may be carried out
      # @!attribute [r] action
      #   @return [Symbol] one of {ACTIONS}
      # @!attribute [r] target
      #   @return [Hash{Symbol=>Object}] `process:`; or `group:`, and where not all of it is meant `topic:` and `partition:`
      # @!attribute [r] expect
      #   @return [Hash{Symbol=>Object}] what must still hold: `process:`, `position:` (the first offset that is not done), `assigned:`
      #     (since when the partition is the process's, in seconds since 1970)
      # @!attribute [r] args
      #   @return [Hash{Symbol=>Object}] of pause `seconds:`; of seek `to:`, an offset, "earliest", "latest", or a time as ISO 8601
      # @!attribute [r] by
      #   @return [String] who wants it
      # @!attribute [r] why
      #   @return [String] the reason
      Command = Data.define(:id, :at, :expires, :action, :target, :expect, :args, :by, :why) do
        # @return [String] the value of its record
        def encode = JSON.encode({v: Command::VERSION, **to_h})

        # @return [Boolean] whether no more than one process carries it out
        def for_one? = target.key?(:process) || target.key?(:partition)

        # @return [String] for people, such as "pause of orders/3 (group shop)"
        def to_s = "#{action} of #{Command.place(target)}"
      end

      # (reopened: methods of a block would not see the constants)
      class Command
        # @api private
        VERSION = 1
        # @api private
        SIGNATURE = "signature"
        TIMES = 0..1e11 # seconds since 1970, until the year 5138: what clocks can be compared with
        # @api private
        EXPIRES_SECONDS = 30
        # @api private
        MAX_EXPIRES_SECONDS = 300
        # @api private
        MAX_PAUSE_SECONDS = 86_400
        # @api private
        MAX_BYTES = 16_384
        MAX_ID = 100
        MAX_NAME = 200
        MAX_WHY = 1_000 # characters
        MEMBERS = {target: TARGET, expect: %i[process position assigned], args: %i[seconds to]}.freeze
        private_constant :TIMES, :MAX_ID, :MAX_NAME, :MAX_WHY, :MEMBERS

        class << self
          # @return [Command]
          # @raise [Guildhall::ArgumentError] naming everything that is wrong with it
          def make(action:, target:, by:, why:, id:, at: Time.now.to_f, expires: EXPIRES_SECONDS, expect: {}, args: {})
            command = new(id:, at:, expires:, action: action.to_s.to_sym, target: target.compact, expect: expect.compact,
              args: args.compact, by: Printable.words(by.to_s.strip, MAX_NAME), why: Printable.words(why.to_s.strip, MAX_WHY))
            problems = problems(command)
            raise Guildhall::ArgumentError, problems.join("; ") if problems.any?

            Ractor.make_shareable(command)
          end

          # @return [Command]
          # @raise [Guildhall::ArgumentError] where the bytes are none
          def decode(bytes)
            data = JSON.decode(bytes)
            raise Guildhall::ArgumentError, "it is no JSON object" unless data.is_a?(Hash)

            version = data["v"]
            unless version == VERSION
              raise Guildhall::ArgumentError, "it has version #{version.inspect}, and this release knows #{VERSION}: update what is older"
            end

            make(**%w[id at expires action by why].to_h { |name| [name.to_sym, data[name]] },
              **MEMBERS.to_h { |name, members| [name, known(data[name.name], members)] })
          rescue Guildhall::DecodeError
            raise Guildhall::ArgumentError, "it is no JSON"
          end

          # @return [Integer, Symbol, Time, nil] as {Consumer#seek} takes it; nil: it is no place
          def place_of(to)
            case to
            when Integer then to if offset?(to)
            when "earliest", "latest" then to.to_sym
            when String then Time.iso8601(to)
            end
          rescue ::ArgumentError
            nil
          end

          # @return [String] for people
          def place(target)
            return "process #{target[:process]}" if target[:process]

            where = [target[:topic], target[:partition]].compact.join("/")
            where.empty? ? "group #{target[:group]}" : "#{where} (group #{target[:group]})"
          end

          private

          # Unknown members of a newer release are skipped.
          def known(data, members) = data.is_a?(Hash) ? members.to_h { |name| [name, data[name.name]] } : {}

          def problems(command)
            [*("id must be a short text" unless text?(command.id, MAX_ID)),
             *("at must be a time in seconds since 1970" unless TIMES.cover?(command.at)),
             *expires_problem(command.expires), *action_problem(command), *by_problem(command)]
          end

          def expires_problem(seconds)
            return if seconds.is_a?(Numeric) && seconds.positive? && seconds <= MAX_EXPIRES_SECONDS

            "expires must be from 1 to #{MAX_EXPIRES_SECONDS} seconds"
          end

          def by_problem(command)
            [*("say who wants it (by)" if command.by.empty?), *("say why (why)" if command.why.empty?)]
          end

          def action_problem(command)
            action = command.action
            unless ACTIONS.include?(action)
              return "there is no action #{Printable.words(action.name, MAX_NAME)}#{Suggestion.for(action, ACTIONS)}"
            end

            target_problem(action, command.target) || args_problem(action, command.args) || expect_problem(command)
          end

          def target_problem(action, target)
            return process_problem(action, target) if target.key?(:process)
            return "#{action} is for a process" unless PARTITION_ACTIONS.include?(action)
            return "a target needs a group" unless text?(target[:group])
            return "a target with a partition needs a topic" if target.key?(:partition) && !target.key?(:topic)
            return "the topic must be a name" unless target[:topic].nil? || text?(target[:topic])
            return "the partition must be a number" unless target[:partition].nil? || offset?(target[:partition])

            "seek is for one partition: name topic and partition" if action == :seek && !target.key?(:partition)
          end

          def process_problem(action, target)
            return "#{action} is for partitions, not for a process" unless PROCESS_ACTIONS.include?(action)

            "a target is either a process, or a group with its topic and partition" unless target.size == 1 && text?(target[:process])
          end

          def args_problem(action, args)
            case action
            when :pause
              seconds = args[:seconds]
              return if seconds.is_a?(Numeric) && seconds.positive? && seconds <= MAX_PAUSE_SECONDS

              "a pause has an end: seconds must be from 1 to #{MAX_PAUSE_SECONDS}"
            when :seek
              "seek needs a place (to): an offset, \"earliest\", \"latest\", or a time as 2026-01-31T09:00:00Z" unless place_of(args[:to])
            end
          end

          def expect_problem(command)
            return unless command.action == :seek && !offset?(command.expect[:position])

            "seek needs the position that the partition is expected to have (expect.position): what it skips, or repeats, follows from it"
          end

          def text?(value, limit = 1_000) = value.is_a?(String) && !value.strip.empty? && value.size <= limit
          def offset?(value) = value.is_a?(Integer) && value >= 0
        end
      end
    end
  end
end
