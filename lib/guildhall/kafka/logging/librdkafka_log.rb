# frozen_string_literal: true

require "logger"
require "guildhall/error_boundary"
require_relative "line"
require_relative "repeats"

module Guildhall
  module Kafka
    module Logging
      # librdkafka's own log, made fit for people: the same line at most once in {EVERY} seconds, with a count. What it says of brokers
      # that cannot be reached goes to whom it concerns, who makes an event of it. Takes the place of the process's `Rdkafka::Config.logger`.
      class LibrdkafkaLog < Logger
        EVERY = 10 # seconds
        # "[thrd:NAME]: BROKER: REASON (after 0ms in state CONNECT, …)". BROKER is host:port/id, after the protocol where that is not
        # plaintext; before it stands, in a connection of a group's or a transaction's own, what that is for.
        BROKER = %r{\[thrd:.*?\]:\ (?:(?:\w+://)?(?:GroupCoordinator|TxnCoordinator)(?:/-?\d+)?:\ )?
                    (?:\w+://)?(?<broker>[^\s/]+:\d+)(?:/-?\w+)?:\ (?<reason>.*?)(?:\ \(after\ (?<after>.*)\))?\z}x
        UNREACHABLE = Regexp.union(/\A(?:Connect to |Failed to resolve|Connection setup timed out|SSL handshake failed|SASL )/,
          /\A(?:Receive failed|Send failed|ApiVersionRequest failed)|Disconnected/,
          /verify that security\.protocol|[Vv]erify broker certificate/)
        # Of what a broker does before it can be used.
        BEFORE_USE = /state (?:INIT|TRY_CONNECT|CONNECT|SSL_HANDSHAKE|APIVERSION_QUERY|AUTH\w*)/
        # A broker that expects SASL lets a client without it connect, and closes the connection then.
        JUST_CONNECTED = /\A[01]?\d{1,3}ms in state UP/
        # OpenSSL's own account of an error that librdkafka reports anyway.
        DETAIL = /\A[\w-]+: error:\h+:/
        private_constant :BROKER, :UNREACHABLE, :BEFORE_USE, :JUST_CONNECTED, :DETAIL

        # @yieldparam broker [String] host and port of one that cannot be reached
        def initialize(target, &unreachable)
          super(nil)
          @target = target
          @unreachable = unreachable
          @lock = Mutex.new
          @lines = Repeats.new(EVERY)
        end

        # Called for everything that is logged, by librdkafka's log thread and by code that uses this as a Logger.
        def add(severity, message = nil, progname = nil)
          ErrorBoundary.run(->(error) { warn("guildhall: logging failed: #{error.class}: #{error.message}") }) do
            text = (message || (block_given? ? yield : progname)).to_s.delete_prefix("rdkafka: ")
            match = BROKER.match(text)
            next if @unreachable && match && unreachable(match)

            severity = match && match[:reason].match?(DETAIL) ? DEBUG : severity || UNKNOWN
            line = @target.level <= severity && @lock.synchronize { repeated(text) }
            @target.add(severity, line) if line
          end
          true
        end
        alias log add

        private

        # @return [Boolean] whether that is what the line says
        def unreachable(match)
          broker, reason, after = match.values_at(:broker, :reason, :after)
          return false unless reason.match?(UNREACHABLE)

          soon = after&.match?(JUST_CONNECTED)
          return false unless after.nil? || soon || after.match?(BEFORE_USE)

          @unreachable.call(broker, soon ? "#{reason}, just after connecting" : reason)
          true
        end

        # What changes from time to time does not make it another line.
        def repeated(text)
          count, = @lines.admit(text.sub(/ \(after .*\)\z/, "").sub(/\A\[thrd:.*?\]: /, ""))
          return unless count

          Line.new("librdkafka: #{text}#{" (#{count} times since)" if count > 1}", {event: "librdkafka", count:})
        end
      end
    end
  end
end
