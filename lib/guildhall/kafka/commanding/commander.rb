# frozen_string_literal: true

require "securerandom"
require "guildhall/clock"
require_relative "../broker/session"
require_relative "../producer"
require_relative "../reporting/record"
require_relative "command"
require_relative "keys"
require_relative "topic"

module Guildhall
  module Kafka
    module Commanding
      # Writes and signs commands, and waits for what becomes of them: for the dashboard, for `guildhall command`, and for code of your own
      # ({Kafka.commander}). Main Ractor; any thread.
      class Commander
        # What one process says of a command, by the command's id. outcome: :done, :refused or :failed; reason: what was done, or why not.
        Outcome = Data.define(:command, :process, :outcome, :reason)
        # A command that was sent, and what was heard of it within the time. Without any: no process has taken it.
        Answer = Data.define(:command, :outcomes) do
          def done? = outcomes.any? && outcomes.all? { |one| one.outcome == :done }
        end

        # A command of the topic: when a broker got it, and whether it is signed with this key; nil: there is no key.
        Sent = Data.define(:command, :at, :signed)

        WAIT_SECONDS = 10
        SENT = 100 # that are listed
        SILENCE_SECONDS = 10
        MORE_SECONDS = 2 # that outcomes of further processes are waited for, where several may have partitions of the target
        READ_MS = 200
        LIMITS = {max_messages: 1_000, max_bytes: 1_000_000}.freeze
        MAX_CHARACTERS = 1_000 # of what a process says
        OUTCOMES = %w[done refused failed].freeze
        SETTINGS = {"message.timeout.ms": 10_000, "request.required.acks": "all", "linger.ms": 0}.freeze
        CLOSE_SECONDS = 2
        GROUP = "guildhall.commander" # a client has to name one; it joins none
        private_constant :SENT, :SILENCE_SECONDS, :GROUP, :MORE_SECONDS, :READ_MS, :LIMITS, :MAX_CHARACTERS, :OUTCOMES, :SETTINGS,
          :CLOSE_SECONDS

        # @return [Outcome, nil] nil: the record of the topic of reports is something else
        def self.outcome(record)
          data = Reporting::Record.call(record.raw_payload.to_s)
          return unless data.is_a?(Hash) && data.values_at("kind", "name") == %w[event outcome] && OUTCOMES.include?(data["outcome"])

          command, process, reason = data.values_at("command", "process", "reason")
          return unless process.is_a?(String)

          Outcome.new(command:, process: Printable.words(process, MAX_CHARACTERS), outcome: data["outcome"].to_sym,
            reason: Printable.words(reason.to_s, MAX_CHARACTERS)) # whoever may write to the topic may have written it
        rescue DecodeError, Zlib::Error
          nil
        end

        # @param settings [Hash{Symbol=>Object}] librdkafka's, of any client
        # @param private_key [String, nil] nil: what is sent is not signed, for processes with `insecure: true`
        # @param topic, reports [String] the topics of commands and of reports
        # @raise [Guildhall::ArgumentError] where it is no key
        def initialize(settings, private_key:, topic: TOPIC, reports: "guildhall.reports")
          @key = private_key && Keys.private(private_key)
          @settings = Producing::Settings.shared(settings)
          @topic = Topic.new(topic)
          @reports = reports
        end

        # Sends a command. Blocks until a broker has it, and then for its outcome.
        # @param action [Symbol] one of {ACTIONS}
        # @param target [Hash{Symbol=>Object}] `{process: "HOST:PID:BOOT"}`, or `{group:, topic:, partition:}`; without the last ones all
        #   partitions of the topic, or of the group
        # @param by [String] who wants it
        # @param why [String] the reason, which the processes' logs and the dashboard show
        # @param args [Hash{Symbol=>Object}] of :pause `{seconds: 600}`, of :seek `{to: 4711}`: an offset, "earliest", "latest" or ISO 8601
        # @param expect [Hash{Symbol=>Object}] what must still hold: `process:`, `position:` (which :seek needs), `assigned:`
        # @param id [String] two commands with the same id are one
        # @param expires [Numeric] seconds within which it is carried out, or never
        # @param wait [Numeric, nil] seconds for an outcome; nil: it does not wait
        # @return [Answer]
        # @raise [Guildhall::ArgumentError] naming everything that is wrong with it
        # @raise [KafkaError] where it could not be sent
        def issue(action, target, by:, why:, args: {}, expect: {}, id: SecureRandom.uuid, expires: Command::EXPIRES_SECONDS,
                  wait: WAIT_SECONDS)
          command = Command.make(action:, target:, by:, why:, args:, expect:, id:, expires:)
          Broker::Session.open({**@settings, "group.id": GROUP}) do |session|
            @topic.found(session, @settings)
            ranges = wait ? outcomes_to_come(session) : {}
            next Answer.new(command:, outcomes: deliver(command)) if ranges.empty?

            session.reading(ranges, **LIMITS) do |reader|
              deliver(command)
              Answer.new(command:, outcomes: outcomes(reader, command, Clock.now + wait))
            end
          end
        end

        # The newest commands that there are; the topic keeps them for seven days. Blocks for the brokers' answers.
        # @return [Array<Sent>] the newest first; none: nobody has sent one
        # @raise [KafkaError]
        def sent(limit = SENT)
          Broker::Session.open({**@settings, "group.id": GROUP}) do |session|
            topic = session.describe([@topic.name]).first
            next [] if topic.missing?
            raise topic.error if topic.error

            ranges = session.ranges_of(topic).to_h do |number, range|
              [[topic.name, number], [range.begin, range.end - limit].max...range.end]
            end
            found = records(session, ranges).filter_map { |record| sent_by(record) }
            found.sort_by(&:at).reverse.uniq { |one| [one.command, one.signed] }.first(limit) # one that is forged hides none
          end
        end

        # @return [String] without the key
        def inspect = "#<#{self.class} #{@topic.name}>"

        private

        def records(session, ranges)
          found = []
          session.reading(ranges, **LIMITS, silence: SILENCE_SECONDS) do |reader|
            reader.read(READ_MS) { |_, records| found.concat(records) } until reader.finished?
          end
          found
        end

        # @return [Sent, nil] nil: it is none
        def sent_by(record)
          bytes = record.raw_payload.to_s
          signed = Keys.signed?(@key, bytes, [*record.headers[Command::SIGNATURE]].last) if @key
          command = Command.decode(bytes)
          Sent.new(command:, at: record.timestamp || Time.at(command.at), signed:)
        rescue Guildhall::ArgumentError
          nil
        end

        # @return [Array] no outcomes
        def deliver(command)
          payload = command.encode
          headers = @key ? {Command::SIGNATURE => Keys.sign(@key, payload)} : {}
          producer = Producer.new({**@settings, **SETTINGS})
          producer.produce_sync(topic: @topic.name, partition: 0, payload:, headers:)
          []
        ensure
          producer&.close(Clock.now + CLOSE_SECONDS)
        end

        # Before the command is sent, so that no outcome is missed. Without reports nothing is heard.
        def outcomes_to_come(session)
          topic = session.describe([@reports]).first
          topic.error ? {} : session.ranges_to_come(topic)
        end

        def outcomes(reader, command, limit)
          found = []
          while Clock.now < limit
            before = found.size
            reader.read(READ_MS) do |_, records|
              found |= records.filter_map { |record| Commander.outcome(record) }.select { |one| one.command == command.id }
            end
            next if found.size == before
            break if command.for_one?

            limit = [limit, Clock.now + MORE_SECONDS].min
          end
          found
        end
      end
    end
  end
end
