# frozen_string_literal: true

require_relative "librdkafka"

module Guildhall
  module Kafka
    module Connection
      # The gem's client configuration with a rebalance callback of ours. The gem's own gives a partition up first and
      # reports afterwards: then the offsets of work in progress can no longer be stored.
      class ClientConfig < Rdkafka::Config
        ASSIGN = Rdkafka::Bindings::RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS

        # @param listener [#partitions_assigned, #partitions_revoked] called in the thread that polls, each with an Array
        #   of [topic, partition]; before a partition is given up, after it was taken on. `statistics_emitted` is called
        #   there as well, with JSON, where the setting statistics.interval.ms asks for it, and `client_failed`, where it has that, with
        #   the code and the reason of what goes wrong between the client and the brokers
        def initialize(settings, listener)
          super(settings)
          @listener = listener
          @callback = FFI::Function.new(:void, %i[pointer int pointer pointer]) do |client, code, list, _opaque|
            rebalance(client, code, list)
          end
          @statistics = FFI::Function.new(:int, %i[pointer pointer size_t pointer]) do |_client, json, size, _opaque|
            @listener.statistics_emitted(json.read_bytes(size))
            0 # librdkafka frees the text
          end
          @failed = FFI::Function.new(:void, %i[pointer int string pointer]) { |_client, code, reason, _| @listener.client_failed(code, reason) }
        end

        private

        # The one hook between the gem's building a configuration and its creating the client.
        def native_config(opaque = nil)
          config = super
          Rdkafka::Bindings.rd_kafka_conf_set_rebalance_cb(config, @callback)
          Librdkafka.rd_kafka_conf_set_stats_cb(config, @statistics)
          Librdkafka.rd_kafka_conf_set_error_cb(config, @failed) if @listener.respond_to?(:client_failed)
          config
        end

        def rebalance(client, code, list)
          partitions = Rdkafka::Consumer::TopicPartitionList.from_native_tpl(list).to_h
          pairs = partitions.flat_map { |topic, numbers| numbers.map { |number| [topic, number.partition] } }
          code == ASSIGN ? assign(client, list, pairs) : revoke(client, list, pairs)
        end

        def assign(client, list, pairs)
          answer(client, :rd_kafka_incremental_assign, list, list)
          @listener.partitions_assigned(pairs)
        end

        # Whatever happens in the listener, the partitions are given up: else the group would wait for this member.
        def revoke(client, list, pairs)
          @listener.partitions_revoked(pairs, lost: Rdkafka::Bindings.rd_kafka_assignment_lost(client) != 0)
        ensure
          answer(client, :rd_kafka_incremental_unassign, list, FFI::Pointer::NULL)
        end

        def answer(client, incremental, list, whole)
          if Rdkafka::Bindings.rd_kafka_rebalance_protocol(client) == "COOPERATIVE"
            Rdkafka::Bindings.public_send(incremental, client, list)
          else
            Rdkafka::Bindings.rd_kafka_assign(client, whole)
          end
        end
      end
    end
  end
end
