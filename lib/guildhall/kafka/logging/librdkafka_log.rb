# frozen_string_literal: true

require "logger"
require "guildhall/error_boundary"
require_relative "line"
require_relative "repeats"

module Guildhall
  module Kafka
    module Logging
      # librdkafka's own log, made fit for people: the same line at most once in {EVERY} seconds, with a count, and a broker
      # that cannot be reached as one line that says what to check, then as reminders with growing pauses. Takes the place of
      # the process's `Rdkafka::Config.logger`.
      class LibrdkafkaLog < Logger
        EVERY = 10 # seconds
        REMIND = 10..600 # seconds between two reminders
        # "[thrd:NAME]: BROKER: REASON (after 0ms in state CONNECT, …)"
        BROKER = %r{\[thrd:[^\]]*\]: (?:GroupCoordinator: )?(?<broker>[^\s/]+:\d+)(?:/\w+)?: (?<reason>.*?)(?: \(after (?<after>.*)\))?\z}
        UNREACHABLE = /\A(?:Connect to |Failed to resolve|Connection setup timed out|SSL handshake failed|SASL )|Disconnected/
        # Of what a broker does before it can be used.
        BEFORE_USE = /state (?:INIT|TRY_CONNECT|CONNECT|SSL_HANDSHAKE|APIVERSION_QUERY|AUTH\w*)/
        ADVICE = {
          /refused/ => "check that a broker listens there, and bootstrap.servers",
          /resolve/ => "check the host name in bootstrap.servers, and DNS",
          /SSL|TLS|certificate/i => "check security.protocol and the ssl.* settings",
          /SASL|uthentication/ => "check sasl.mechanism and the credentials",
          /timed out|unreachable/i => "check the address and the firewalls between",
          /Disconnected/ => "check security.protocol: the broker may expect another one"
        }.freeze

        # @param target [Logger]
        def initialize(target)
          super(nil)
          @target = target
          @lock = Mutex.new
          @lines = Repeats.new(EVERY)
          @brokers = Repeats.new(REMIND.begin, REMIND.end)
        end

        # Called for everything that is logged, by librdkafka's log thread and by code that uses this as a Logger.
        # @return [true]
        def add(severity, message = nil, progname = nil)
          ErrorBoundary.run(->(error) { warn("guildhall: logging failed: #{error.class}: #{error.message}") }) do
            text = (message || (block_given? ? yield : progname)).to_s.delete_prefix("rdkafka: ")
            severity ||= UNKNOWN
            line = @target.level <= severity && @lock.synchronize { line(text) }
            @target.add(severity, line) if line
          end
          true
        end
        alias log add

        private

        def line(text)
          match = BROKER.match(text)
          match && unreachable?(match) ? unreachable(match) : repeated(text)
        end

        def unreachable?(match)
          match[:reason].match?(UNREACHABLE) && (match[:after].nil? || match[:after].match?(BEFORE_USE))
        end

        # What changes from time to time does not make it another line.
        def repeated(text)
          count, = @lines.admit(text.sub(/ \(after .*\)\z/, "").sub(/\A\[thrd:[^\]]*\]: /, ""))
          return unless count

          Line.new("librdkafka: #{text}#{" (#{count} times since)" if count > 1}", {event: "librdkafka", count:})
        end

        def unreachable(match)
          broker, reason = match.values_at(:broker, :reason)
          count, seconds = @brokers.admit([broker, reason])
          return unless count

          _, advice = ADVICE.find { |pattern, _| reason.match?(pattern) }
          what = "Kafka broker #{broker} cannot be reached#{" for #{seconds.round} s now" if count > 1}: #{reason}"
          Line.new([what, *advice].join("; "), {event: "broker.unreachable", broker:, reason:, seconds: seconds.round(1)})
        end
      end
    end
  end
end
