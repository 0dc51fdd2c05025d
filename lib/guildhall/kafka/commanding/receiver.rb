# frozen_string_literal: true

require "guildhall/clock"
require "guildhall/error_boundary"
require "guildhall/growing_pauses"
require_relative "../broker/session"
require_relative "actions"
require_relative "checks"
require_relative "outcomes"
require_relative "topic"

module Guildhall
  module Kafka
    module Commanding
      # Reads the topic of commands from its end on, without a group, and carries out what is for this process: once, never late. A thread
      # of its own with a client of its own: what goes wrong here is reported in one line, and disturbs nothing else.
      # @api private
      class Receiver
        PAUSES = GrowingPauses.new(1, 60) # seconds before another try
        FETCH_WAIT_MS = 10_000 # that a broker keeps a request while there is no command: no traffic, and yet no delay
        SPARE_MS = 2_000 # by which socket.timeout.ms has to be longer
        READ_MS = 60_000 # of one wait, which {#close} ends
        LIMITS = {max_messages: 100, max_bytes: 1_000_000}.freeze
        # They pass by themselves, and the log has a line about brokers that do not answer.
        PASSING = %i[unanswered coordinator leader].freeze
        MAX_REPORTED = 20
        ANSWER_SECONDS = 2 # that brokers have for an answer before it is looked whether to stop; they are asked again
        CLOSE_SECONDS = 5
        private_constant :FETCH_WAIT_MS, :SPARE_MS, :READ_MS, :LIMITS, :PASSING, :MAX_REPORTED, :ANSWER_SECONDS, :CLOSE_SECONDS

        # @return [Hash{Symbol=>Object}] librdkafka's settings of its client
        def self.client_settings(config)
          shared = Producing::Settings.shared(config.librdkafka)
          timeout = Integer(shared.fetch(:"socket.timeout.ms", 60_000), exception: false) || 60_000
          {"client.id": config.client_id, **shared, "group.id": "#{config.client_id}.commands",
           "fetch.wait.max.ms": [FETCH_WAIT_MS, timeout - SPARE_MS].min.clamp(1..)}
        end

        def initialize(application, pauses: PAUSES)
          @application = application
          @settings = Settings.of(application.config.commands)
          @client_settings = Receiver.client_settings(application.config)
          @topic = Topic.new(@settings.topic)
          @checks = Checks.new(@settings)
          @actions = Actions.new(application)
          @outcomes = Outcomes.new(application)
          @pauses = pauses
          @lock = Mutex.new
          @changed = ConditionVariable.new
          @closing = false
          @reader = nil
          @reported = Set.new
        end

        # Where a subscriber ends its thread (Thread.exit), another one goes on.
        def start
          @thread = Thread.new do
            run
          ensure
            start unless @closing
          end
          @thread.name = "guildhall commands"
          @thread.report_on_exception = false
          self
        end

        def include?(thread) = thread.equal?(@thread)

        # No command is carried out any more. Does not block.
        def stop
          @lock.synchronize do
            @closing = true
            @changed.signal
            @reader&.wake
          end
        end

        # Blocks until its thread has ended, or kills it: no work is left undone by that.
        # @return [void]
        def close(deadline)
          stop
          @thread.join([Clock.left(deadline), CLOSE_SECONDS].min) || @thread.kill
        end

        # One record of the topic.
        # @param record [Record]
        def receive(record)
          command = @checks.authentic(record)
          return unless @checks.first?(command) # who writes one again and again, without the key, fills no log either
          return unless @actions.mine?(command)

          refusal = @checks.refusal(command, record.timestamp)
          announce(command)
          carry_out(command, refusal)
        rescue CommandError => error
          report(error, record.offset)
        end

        private

        def run
          pause = nil
          until @closing
            ErrorBoundary.run(->(error) { report(error) }) { listen { pause = nil } }
            wait(pause = @pauses.after(pause))
          end
        end

        # Returns when it is closed.
        # @yield once it listens
        def listen
          Broker::Session.open(@client_settings, timeout: ANSWER_SECONDS) do |session|
            ranges = ranges_to_come(session) or next
            session.reading(ranges, **LIMITS) do |reader|
              @lock.synchronize { @reader = reader }
              @reported.clear
              yield
              reader.read(READ_MS) { |_, records| records.each { |record| receive(record) } } until @closing
            ensure
              @lock.synchronize { @reader = nil }
            end
          end
        end

        # The client is kept while no broker answers: it may still be connecting.
        # @return [Hash{Array(String, Integer)=>Range}, nil] nil: it is closed
        def ranges_to_come(session)
          session.ranges_to_come(@topic.found(session, @client_settings)) unless @closing
        rescue AuthenticationError
          raise
        rescue UnreachableError
          wait(1)
          retry
        end

        def wait(seconds) = @lock.synchronize { @changed.wait(@lock, seconds) unless @closing }

        def announce(command) = @application.publish("command.received", **described(command), args: command.args)

        def carry_out(command, refusal)
          raise Actions::Refused, refusal if refusal

          finish(command, :done, *@actions.perform(command))
          @application.ask_to_stop if command.action == :stop # told before, because afterwards nothing is
        rescue Actions::Refused => error
          finish(command, :refused, error.message)
        rescue StandardError, ScriptError => error
          finish(command, :failed, "#{error.class}: #{ErrorBoundary.message(error)}")
        end

        def finish(command, outcome, reason, trace = nil)
          @application.publish("command.finished", **described(command), outcome:, reason:)
          @outcomes.tell(command, outcome, reason, trace) { |error| report(error) }
        end

        def described(command)
          {id: command.id, action: command.action, target: Command.place(command.target), by: command.by, why: command.why}
        end

        # Each once, until commands are read again: who cannot grant what is missing now need not be told again.
        # @param offset [Integer, nil] of a record that is no command
        def report(error, offset = nil)
          return if error.is_a?(KafkaError) && PASSING.include?(Broker::Errors.kind(error))
          return if @reported.size >= MAX_REPORTED || !@reported.add?(error.message)

          @application.error(error, "commands", **{topic: @settings.topic, offset:}.compact)
        end
      end
    end
  end
end
