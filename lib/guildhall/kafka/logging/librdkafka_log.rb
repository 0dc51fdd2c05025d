# frozen_string_literal: true

require "logger"
require "guildhall/clock"
require "guildhall/error_boundary"
require_relative "../logging"

module Guildhall
  module Kafka
    module Logging
      # Takes the place of the process's `Rdkafka::Config.logger`: prints the same line at most once in {PAUSE_SECONDS}, with a count. Lines
      # about brokers that cannot be reached are passed on for an event, and not printed.
      # @api private
      class LibrdkafkaLog < Logger
        PAUSE_SECONDS = 10
        # "[thrd:NAME]: BROKER: REASON (after 0ms in state CONNECT, …)". BROKER is host:port/id, after the protocol where that is not
        # plaintext; a coordinator's own connection has the coordinator's name before that.
        BROKER = %r{\[thrd:.*?\]:\ (?:(?:\w+://)?(?:GroupCoordinator|TxnCoordinator)(?:/-?\d+)?:\ )?
                    (?:\w+://)?(?<broker>[^\s/]+:\d+)(?:/-?\w+)?:\ (?<reason>.*?)(?:\ \(after\ (?<after>.*)\))?\z}x
        UNREACHABLE = Regexp.union(/\A(?:Connect to |Failed to resolve|Connection setup timed out|SSL handshake failed|SASL )/,
          /\A(?:Receive failed|Send failed|ApiVersionRequest failed)|Disconnected/,
          /verify that security\.protocol|[Vv]erify broker certificate/)
        # States of a connection that cannot be used yet.
        BEFORE_USE = /state (?:INIT|TRY_CONNECT|CONNECT|SSL_HANDSHAKE|APIVERSION_QUERY|AUTH\w*)/
        # A broker that expects SASL lets a client without it connect, and then closes the connection.
        JUST_CONNECTED = /\A[01]?\d{1,3}ms in state UP/
        # OpenSSL's own account of an error that librdkafka reports anyway.
        DETAIL = /\A[\w-]+: error:\h+:/
        # The member's listener reports that it cannot join, or joins in another way.
        JOINING = /Fatal error: .*ConsumerGroupHeartbeat/
        # A setting of the outbox's relay, which the user cannot change: a warning at each start would be about nothing.
        RELAY = /Configuration property enable\.gapless\.guarantee is experimental/
        private_constant :BROKER, :UNREACHABLE, :BEFORE_USE, :JUST_CONNECTED, :DETAIL, :JOINING, :RELAY

        # @yieldparam broker [String] host and port of one that cannot be reached
        def initialize(target, &unreachable)
          super(nil)
          @target = target
          @unreachable = unreachable
          @lock = Mutex.new
          @lines = RepeatFilter.new(PAUSE_SECONDS)
        end

        # Called for everything that is logged, by librdkafka's log thread and by code that uses this as a Logger.
        def add(severity, message = nil, progname = nil)
          ErrorBoundary.run(->(error) { warn("guildhall: logging failed: #{error.class}: #{error.message}") }) do
            text = (message || (block_given? ? yield : progname)).to_s.delete_prefix("rdkafka: ")
            match = BROKER.match(text)
            # With `debug: "security"` there are lines about each step of SASL, which fail no more than others.
            next if @unreachable && match && severity != DEBUG && unreachable(match)

            severity = JOINING.match?(text) || RELAY.match?(text) || (match && match[:reason].match?(DETAIL)) ? DEBUG : severity || UNKNOWN
            line = @target.level <= severity && @lock.synchronize { repeated(text) }
            @target.add(severity, line) if line
          end
          true
        end
        alias log add

        private

        # @return [Boolean] whether the line says that a broker cannot be reached
        def unreachable(match)
          broker, reason, after = match.values_at(:broker, :reason, :after)
          return false unless reason.match?(UNREACHABLE)

          soon = after&.match?(JUST_CONNECTED)
          return false unless after.nil? || soon || after.match?(BEFORE_USE)

          @unreachable.call(broker, soon ? "#{reason}, just after connecting" : reason)
          true
        end

        # Times and threads in it do not make it another line.
        def repeated(text)
          count = @lines.admit(text.sub(/ \(after .*\)\z/, "").sub(/\A\[thrd:.*?\]: /, ""))
          return unless count

          LogLine.new("librdkafka: #{text}#{" (#{count} times since)" if count > 1}", {event: "librdkafka", count:})
        end

        # Lets a line through that was not there lately, and counts those it holds back. Not thread-safe.
        class RepeatFilter
          MAX_SEEN_LINES = 500 # that are remembered: those that were let through last
          Seen = Struct.new(:due, :held_back)
          private_constant :Seen

          # @param pause [Numeric] seconds before the same line is let through again
          def initialize(pause, clock: Clock)
            @pause = pause
            @clock = clock
            @seen = {}
          end

          # @param key [Object] what makes a line the same
          # @return [Integer, nil] how often it came since it was let through last, this time included; nil: not now
          def admit(key)
            now = @clock.now
            seen = @seen[key]
            if seen && now < seen.due
              seen.held_back += 1
              return
            end
            @seen.delete(key)
            @seen.shift if @seen.size >= MAX_SEEN_LINES
            @seen[key] = Seen.new(now + @pause, 0)
            seen && now - seen.due <= @pause ? seen.held_back + 1 : 1 # after so long it is a new one
          end
        end
      end
    end
  end
end
