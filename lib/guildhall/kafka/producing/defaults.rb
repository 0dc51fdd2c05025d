# frozen_string_literal: true

module Guildhall
  module Kafka
    module Producing
      # Settings of librdkafka that a producer has unless the application says otherwise.
      module Defaults
        ALWAYS = {
          # As the Java client: the same key goes to the same partition, from every producer.
          partitioner: "murmur2_random",
          # Takes the least time of all; brokers from 0.10 on know it.
          "compression.codec": "lz4"
        }.freeze
        # No message twice or out of order because of a retry of librdkafka's.
        IDEMPOTENCE = {"enable.idempotence": true}.freeze
        # Settings that librdkafka refuses beside idempotence: name => whether a value does.
        CONFLICTS = {
          acks: ->(value) { !%w[all -1].include?(value) }, "request.required.acks": ->(value) { !%w[all -1].include?(value) },
          "max.in.flight": ->(value) { value.to_i > 5 }, "max.in.flight.requests.per.connection": ->(value) { value.to_i > 5 },
          retries: ->(value) { value.to_i.zero? }, "message.send.max.retries": ->(value) { value.to_i.zero? },
          "queuing.strategy": ->(value) { value != "fifo" }
        }.freeze
        private_constant :ALWAYS, :IDEMPOTENCE, :CONFLICTS

        # @param settings [Hash{Symbol=>Object}] what the application says
        def self.for(settings)
          conflict = CONFLICTS.any? { |name, refused| settings.key?(name) && refused.call(settings[name].to_s) }
          conflict ? ALWAYS : {**ALWAYS, **IDEMPOTENCE}
        end
      end
    end
  end
end
