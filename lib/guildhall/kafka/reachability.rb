# frozen_string_literal: true

require "guildhall/clock"
require "guildhall/growing_pauses"
require "guildhall/pipeline"
require "guildhall/printable"
require_relative "broker/errors"
require_relative "reachability/tls_diagnosis"

module Guildhall
  module Kafka
    # Publishes which brokers and schema registries an application cannot reach: at once, then again as reminders with growing pauses, and
    # when the outage is over.
    # @api private
    module Reachability
      # When an outage is reported: each of its reasons at once, then again with growing pauses, whatever other reasons come between. One
      # object for each outage. Not thread-safe.
      class Reminders
        PAUSES = GrowingPauses.new(10, 600) # seconds between two reports of the same reason
        MAX_REASONS = 20
        Reason = Struct.new(:due, :pause)
        private_constant :PAUSES, :Reason

        def initialize
          @reasons = {}
          @announced = false
        end

        # @param reason [Object] what makes two reports the same
        # @return [Boolean] whether it is to be reported now; the next report of this reason comes after a longer pause then
        def due?(reason, now)
          @reasons.shift if @reasons.size >= MAX_REASONS && !@reasons.key?(reason)
          one = @reasons[reason] ||= Reason.new(now, nil)
          return false if now < one.due

          one.pause = PAUSES.after(one.pause)
          one.due = now + one.pause
          true
        end

        # Call it when one is reported, which may be later than it was due, and in another order: a diagnosis takes time.
        # @return [Boolean] whether it is a reminder
        def announce = @announced.tap { @announced = true }

        def announced? = @announced
      end

      # Publishes `broker.unreachable` and `broker.reachable`, from what librdkafka logs about connections and what the clients' statistics
      # say about answers. Any thread.
      class Brokers
        # A client that fails says so at least that often (librdkafka: every 30 s), else it is over, or the client is gone.
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
        # Reason => what to do, or the code whose advice that is.
        ADVICE = {
          /\A#{NO_FIRST_ANSWER}/o => "check whether the broker's process is suspended, was until now, or is still starting, and the " \
                                     "network between",
          /#{JUST_CONNECTED}/o => "check security.protocol: the broker seems to expect SASL (sasl_plaintext, sasl_ssl)",
          Broker::Errors::WITHOUT_LOGIN => Broker::Errors::WITHOUT_LOGIN_ADVICE,
          /alert (?:bad certificate|certificate required|unknown ca|handshake failure)/i =>
            "the broker wants a client certificate that it trusts: set ssl.certificate.location and ssl.key.location",
          /alert (?:certificate (?:expired|revoked|unknown)|unsupported certificate)/i =>
            "the broker refuses the client certificate: renew it (ssl.certificate.location, ssl.key.location); a server that runs " \
            "needs a restart then",
          /refused/ => :transport,
          /resolve/ => :resolve,
          /Unsupported SASL mechanism/i => :unsupported_sasl_mechanism,
          Broker::Errors::TOKEN_REFUSED => Broker::Errors::TOKEN_ADVICE,
          /SASL|uthentication/ => :sasl_authentication_failed,
          /SSL|TLS|certificate/i => :ssl,
          /security\.protocol|Disconnected/ => "check security.protocol: the broker may expect another one",
          /timed out|unreachable/i => :timed_out,
          /\A#{UNANSWERED}/o => "check whether the broker's process is suspended, and the network between"
        }.freeze
        # A handshake can say more about these reasons.
        DOUBTFUL = /certificate\ verify|SSL\ handshake|alert\ certificate|ApiVersion|Disconnected(?!.*just\ after\ connecting)|
                    verify\ that\ security\.protocol/x
        MAX_OUTAGES = 500
        Outage = Struct.new(:since, :latest, :latest_of_one, :reminders)
        private_constant(*constants(false))

        # @param diagnosis [#call] called with a broker's address in a thread of its own, says what is wrong with the connection, or nil
        def initialize(diagnosis, clock: Clock, &publish)
          @diagnosis = diagnosis
          @clock = clock
          @publish = publish
          @lock = Mutex.new
          @outages = {}
          @closed_at = {} # broker => when it closed a connection just after connecting, and nothing else was said since
        end

        # A connection could not be made, or was refused by the broker. Does not block.
        def failed(broker, reason)
          return if closed_for_the_first_time?(broker, reason)

          unanswered = reason.match?(/\AApiVersionRequest failed: (?:Local|Broker): .*[Tt]imed out/)
          outage, found = note(broker, unanswered ? NO_FIRST_ANSWER : reason.sub(GUESS, ""))
          return unless found
          return announce(outage, found) unless reason.match?(DOUBTFUL)

          thread = Thread.new { announce(outage, {**found, **{advice: @diagnosis.call(broker)}.compact}) }
          thread.name = "guildhall diagnosis"
        end

        # It is connected, and leaves requests without an answer. Does not block.
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
          @publish.call("broker.reachable", broker:, seconds: now - outage.since) if outage&.reminders&.announced?
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

        # @return [Array(Outage, Hash{Symbol=>Object}), nil] what is to be published now
        def note(broker, reason, seconds = 0.0)
          now = @clock.now
          @lock.synchronize do
            outage = outage(broker, now, seconds)
            outage.latest_of_one = now if reason.match?(OF_ONE_CLIENT)
            next unless outage.reminders.due?(reason, now)

            [outage, {broker:, reason:, advice: advice(reason), seconds: now - outage.since}]
          end
        end

        def outage(broker, now, seconds)
          one = @outages.delete(broker)
          one = Outage.new(now - seconds, now, nil, Reminders.new) if one.nil? || now - one.latest > FORGET_SECONDS
          @outages.shift if @outages.size >= MAX_OUTAGES
          one.latest = now
          @outages[broker] = one
        end

        def advice(reason)
          _, advice = ADVICE.find { |pattern, _| reason.match?(pattern) }
          advice.is_a?(Symbol) ? Broker::Errors.advice(advice) : advice
        end

        # Not if the broker has answered meanwhile: nobody would take that back.
        def announce(outage, found)
          reminder = @lock.synchronize { outage.reminders.announce if @outages[found[:broker]].equal?(outage) }
          @publish.call("broker.unreachable", **found, reminder:) unless reminder.nil?
        end
      end

      # The schema registries that the codecs of an application's routes ask. Publishes `schema_registry.unreachable` and
      # `schema_registry.reachable`. No request is sent for that: a registry remembers how its last requests ended.
      class Registries
        CHECK_SECONDS = 1
        Known = Struct.new(:latest, :reminders)
        private_constant :Known

        # @return [Array<SchemaRegistry>] those that the codecs of these routes ask
        def self.of(topics)
          tasks = topics.flat_map { |topic| [topic.deserializer, topic.key_deserializer, topic.serializer] }.uniq
          parts = tasks.flat_map { |task| task.is_a?(Pipeline) ? [*task.decoder, *task.stages.map(&:callable)] : [task] }
          registries = parts.filter_map { |part| part.registry if part.respond_to?(:registry) }
          registries.select { |registry| registry.respond_to?(:outage) }.uniq(&:object_id)
        end

        def initialize(topics, clock: Clock, &publish)
          @registries = Registries.of(topics)
          @clock = clock
          @publish = publish
          @known = {}.compare_by_identity
        end

        def any? = @registries.any?

        # Called from time to time by one thread.
        def check
          @registries.each { |registry| (outage = registry.outage) ? unreachable(registry, outage) : reachable(registry) }
        end

        # @return [Array<String>] what keeps the application from being ready. Any thread may call it.
        def problems
          @registries.filter_map do |registry|
            outage = registry.outage
            "schema registry #{registry.url}: #{reason(registry, outage)}, for #{Printable.duration(outage.seconds)}" if outage
          end
        end

        private

        def unreachable(registry, outage)
          known = @known[registry] ||= Known.new(nil, Reminders.new)
          known.latest = outage
          return unless known.reminders.due?(outage.status, @clock.now)

          @publish.call("schema_registry.unreachable", registry: registry.url, reason: reason(registry, outage), seconds: outage.seconds,
            reminder: known.reminders.announce)
        end

        # Most reasons begin with the registry's URL, which the event and the line of `/ready` name already.
        def reason(registry, outage) = outage.reason.delete_prefix("#{registry.url} ")

        # An outage that is over because nothing was asked for long was not ended by an answer.
        def reachable(registry)
          outage = @known.delete(registry)&.latest or return
          return if outage.forgotten?

          @publish.call("schema_registry.reachable", registry: registry.url, seconds: outage.seconds)
        end
      end
    end
  end
end
