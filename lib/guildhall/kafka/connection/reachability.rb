# frozen_string_literal: true

require "guildhall/clock"
require_relative "../broker/errors"
require_relative "../reminders"
require_relative "tls_diagnosis"

module Guildhall
  module Kafka
    module Connection
      # Which brokers an application cannot reach: what its clients' log says of connections, and what their statistics say of answers,
      # become the events `broker.unreachable` (once, and again as reminders with growing pauses) and `broker.reachable`. Any thread.
      class Reachability
        # A client that fails goes on failing, and says so at least that often (librdkafka: every 30 s): then it is over, or the client is
        # gone.
        FORGET_SECONDS = 90
        # Another client may do well with other credentials: failures of these kinds are over once they have not been seen for so long.
        SETTLED_SECONDS = 45
        OF_ONE_CLIENT = /SSL|TLS|certificate|SASL|uthentication|security\.protocol/i
        UNANSWERED = "it has been asked, and does not answer"
        JUST_CONNECTED = "just after connecting"
        # A broker that ends closes all of its connections at once, new ones as well; one that expects SASL does so with each new one, which
        # comes after `reconnect.backoff.ms`.
        RECONNECTED_SECONDS = 0.05
        NO_FIRST_ANSWER = "it has taken the connection, and does not answer the first request"
        # librdkafka's guess about a first request that fails; brokers that are suspended, or have just been, are much more frequent.
        GUESS = /: (?:probably due to|might be caused by) broker version < 0\.10.*| or broker version is < 0\.10.*/
        # What a reason says => what to do, or the code whose advice that is.
        ADVICE = {
          /\A#{NO_FIRST_ANSWER}/o => "check whether the broker's process is suspended, was until now, or is still starting, and the " \
                                     "network between",
          /#{JUST_CONNECTED}/o => "check security.protocol: the broker seems to expect SASL (sasl_plaintext, sasl_ssl)",
          /alert (?:bad certificate|certificate required|unknown ca|handshake failure)/i =>
            "the broker wants a client certificate that it trusts: set ssl.certificate.location and ssl.key.location",
          /refused/ => :transport,
          /resolve/ => :resolve,
          /Unsupported SASL mechanism/i => :unsupported_sasl_mechanism,
          /SASL|uthentication/ => :sasl_authentication_failed,
          /SSL|TLS|certificate/i => :ssl,
          /security\.protocol|Disconnected/ => "check security.protocol: the broker may expect another one",
          /timed out|unreachable/i => :timed_out,
          /\A#{UNANSWERED}/o => "check whether the broker's process is suspended, and the network between"
        }.freeze
        # What a handshake can say more about.
        DOUBTFUL = /certificate verify|SSL handshake|ApiVersion|Disconnected(?!.*just after connecting)|verify that security\.protocol/
        MAX_OUTAGES = 500
        Outage = Struct.new(:since, :latest, :latest_of_one, :reminders)
        private_constant :OF_ONE_CLIENT, :DOUBTFUL, :JUST_CONNECTED, :RECONNECTED_SECONDS, :NO_FIRST_ANSWER, :GUESS, :MAX_OUTAGES,
          :Outage

        # @param diagnosis [#call] called with a broker's address in a thread of its own, says what is wrong with the connection, or nil
        # @yieldparam name [String] of an event
        def initialize(diagnosis, clock: Clock, &publish)
          @diagnosis = diagnosis
          @clock = clock
          @publish = publish
          @lock = Mutex.new
          @outages = {}
          @closed_at = {} # broker => when it closed a connection just after connecting, and nothing else was said since
        end

        # A connection could not be made, or was refused by the broker. Does not block.
        # @param broker [String] host and port
        # @param reason [String] librdkafka's
        def failed(broker, reason)
          return if closed_for_the_first_time?(broker, reason)

          outage, found = note(broker, worded(reason))
          return unless found
          return announce(outage, found) unless reason.match?(DOUBTFUL)

          thread = Thread.new { announce(outage, {**found, **{advice: @diagnosis.call(broker)}.compact}) }
          thread.name = "guildhall diagnosis"
        end

        # It is connected, and leaves requests without an answer. Does not block.
        # @param seconds [Float] for how long
        def silent(broker, seconds)
          outage, found = note(broker, UNANSWERED, seconds)
          announce(outage, found) if found
        end

        # It has answered. Does not block.
        def answered(broker)
          return if @outages.empty?

          now = @clock.now
          outage = @lock.synchronize do
            one = @outages[broker]
            next if one.nil? || (one.latest_of_one && now - one.latest_of_one < SETTLED_SECONDS)

            @outages.delete(broker)
          end
          @publish.call("broker.reachable", broker:, seconds: now - outage.since) if outage
        end

        private

        def closed_for_the_first_time?(broker, reason)
          @lock.synchronize do
            unless reason.end_with?(JUST_CONNECTED)
              @closed_at.delete(broker)
              next false
            end

            @closed_at.shift if @closed_at.size >= MAX_OUTAGES
            @clock.now - (@closed_at[broker] ||= @clock.now) < RECONNECTED_SECONDS
          end
        end

        def worded(reason)
          reason.match?(/\AApiVersionRequest failed: (?:Local|Broker): .*[Tt]imed out/) ? NO_FIRST_ANSWER : reason.sub(GUESS, "")
        end

        # @return [Array(Outage, Hash{Symbol=>Object}), nil] what is to be published now
        def note(broker, reason, seconds = 0.0)
          now = @clock.now
          @lock.synchronize do
            outage = outage(broker, now, seconds)
            next unless due?(outage, reason, now)

            [outage, {broker:, reason:, advice: advice(reason), seconds: now - outage.since}]
          end
        end

        def advice(reason)
          _, advice = ADVICE.find { |pattern, _| reason.match?(pattern) }
          advice.is_a?(Symbol) ? Broker::Errors.advice(advice) : advice
        end

        def outage(broker, now, seconds)
          one = @outages.delete(broker)
          one = Outage.new(now - seconds, now, nil, Reminders.new) if one.nil? || now - one.latest > FORGET_SECONDS
          @outages.shift if @outages.size >= MAX_OUTAGES
          one.latest = now
          @outages[broker] = one
        end

        def due?(outage, reason, now)
          outage.latest_of_one = now if reason.match?(OF_ONE_CLIENT)
          outage.reminders.due?(reason, now)
        end

        def announce(outage, found)
          reminder = @lock.synchronize { outage.reminders.announce }
          @publish.call("broker.unreachable", **found, reminder:)
        end
      end
    end
  end
end
