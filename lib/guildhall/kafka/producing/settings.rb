# frozen_string_literal: true

require_relative "../tokens"

module Guildhall
  module Kafka
    # Sends messages: what is behind {Producer}.
    module Producing
      # librdkafka's settings of the application's producers.
      # @api private
      module Settings
        # How the names of the settings begin that any client needs.
        SHARED = (%w[client.id bootstrap.servers metadata.broker.list security. sasl. enable.sasl. ssl. enable.ssl. socket. broker.] +
                  [Tokens::SETTING.name]).freeze
        # Unless the application says otherwise.
        DEFAULTS = {
          "request.required.acks": "all",
          # Whether a message is too big is for the broker to say, whose limit is the topic's; librdkafka would refuse whatever is bigger
          # than 1 MB, and a dead letter is a little bigger than the message was.
          "message.max.bytes": 100_000_000,
          # As the Java client: the same key goes to the same partition, from every producer.
          partitioner: "murmur2_random",
          # Takes the least time of all; brokers from 0.10 on know it.
          "compression.codec": "lz4"
        }.freeze
        # Less than the time for which a caller waits, who then knows whether the message can still arrive. In a transaction librdkafka
        # takes the transaction's.
        VERDICT = {"message.timeout.ms": 150_000}.freeze
        # No message twice or out of order because of a retry of librdkafka's.
        IDEMPOTENCE = {"enable.idempotence": true}.freeze
        # Of an outbox's relay, which has written down what it sends: for as long as it takes, and nothing behind what was not sent.
        PATIENCE = {"message.timeout.ms": 0, "request.required.acks": "all", **IDEMPOTENCE, "enable.gapless.guarantee": true}.freeze
        # Settings that librdkafka refuses beside idempotence: name => whether a value does.
        CONFLICTS = {
          acks: ->(value) { !%w[all -1].include?(value) }, "request.required.acks": ->(value) { !%w[all -1].include?(value) },
          "max.in.flight": ->(value) { value.to_i > 5 }, "max.in.flight.requests.per.connection": ->(value) { value.to_i > 5 },
          retries: ->(value) { value.to_i.zero? }, "message.send.max.retries": ->(value) { value.to_i.zero? },
          "queuing.strategy": ->(value) { value != "fifo" }
        }.freeze
        private_constant :SHARED, :DEFAULTS, :VERDICT, :IDEMPOTENCE, :PATIENCE, :CONFLICTS

        class << self
          # @param settings [Hash{Symbol,String=>Object}] librdkafka's
          # @return [Hash{Symbol=>Object}] those that any client needs
          def shared(settings)
            Config::Secrets.hide(settings.transform_keys(&:to_sym).select { |name, _| name.start_with?(*SHARED) })
          end

          # A consumer's settings mean nothing to a producer, and librdkafka would complain of them. The transactional id of
          # `config.producer` is for {Producer#transaction}: what is produced outside of one is in none.
          # @param transactional [Hash{Symbol=>String}] further ones: the transactional id
          # @return [Hash{Symbol=>Object}] librdkafka's
          def of(config, **transactional)
            own = {**config.producer.transform_keys(&:to_sym).except(:"transactional.id"), **transactional}
            conflict = CONFLICTS.any? { |name, refused| own.key?(name) && refused.call(own[name].to_s) }
            defaults = {"client.id": config.client_id, **DEFAULTS}
            defaults.merge!(IDEMPOTENCE) unless conflict
            defaults.merge!(VERDICT) unless own.key?(:"transactional.id")
            Config::Secrets.hide({**shared(config.librdkafka), **defaults, **own})
          end

          # @return [Hash{Symbol=>Object}] librdkafka's, of an outbox's relay
          def patient(config) = of(config).except(:"delivery.timeout.ms", *CONFLICTS.keys).merge(PATIENCE)

          # @return [String, nil] nil: {Producer#transaction} has none
          def transactional_id(config) = config.producer.transform_keys(&:to_sym)[:"transactional.id"]

          # A message that the framework sends on (a dead letter, say) counts as done once the broker has it: with settings that do not
          # wait for that it would be lost.
          def validate_promise(topics, config, problems)
            return if topics.none?(&:needs_producer?)

            settings = of(config)
            return if %i[acks request.required.acks].none? { |name| settings[name].to_s == "0" }

            problems.add("producer acks 0 loses dead letters, messages for later and runs of a schedule: the producer does not wait " \
                         "for the broker")
          end
        end
      end
    end
  end
end
