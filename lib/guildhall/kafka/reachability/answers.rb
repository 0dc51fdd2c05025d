# frozen_string_literal: true

require "guildhall/clock"
require "guildhall/json"

module Guildhall
  module Kafka
    module Reachability
      # Whether brokers answer one client, by librdkafka's statistics: a broker that is frozen keeps its connections open, and librdkafka
      # itself says nothing of it for a minute. Read by the listener's thread, asked by any.
      class Answers
        # A broker that librdkafka gives up and finds again is there twice for a while, the new one at the end.
        FORMAT = Guildhall::JSON.new(allow_duplicate_key: true)
        SAMPLE_MS = 2_000
        # A broker that leaves a request without an answer for so long, beyond the time that a fetch may wait there, counts as silent.
        SILENT_SECONDS = 5
        CONNECTING = %w[CONNECT SSL_HANDSHAKE AUTH_LEGACY APIVERSION_QUERY AUTH_HANDSHAKE AUTH_REQ].freeze
        # The coordinator holds these requests back until the other members have come.
        JOINING = %w[wait-join wait-sync].freeze
        # A member of a group whose coordinator is there, and that has not joined.
        OUTSIDE = %w[up init].freeze
        # By this request members join with the consumer protocol. Statistics of librdkafka 2.16 do not list it.
        HEARTBEAT = "ConsumerGroupHeartbeat"
        OUTSIDE_SAMPLES = 2 # in a row: one may fall into the moment between
        MICROSECONDS = 1_000_000.0
        FETCH_WAIT_MS = 500 # librdkafka's default
        # received: how many answers; waiting: since when one is waited for, or nil; down: since when there is no connection, or nil.
        BrokerState = Struct.new(:address, :node, :received, :waiting, :down)
        private_constant :SAMPLE_MS, :SILENT_SECONDS, :CONNECTING, :JOINING, :OUTSIDE, :HEARTBEAT, :OUTSIDE_SAMPLES,
          :MICROSECONDS, :FETCH_WAIT_MS, :BrokerState

        # A client's settings, with statistics often enough: for the user they come as often as he has set.
        def self.settings(settings)
          own = settings[:"statistics.interval.ms"].to_i
          settings.merge("statistics.interval.ms": own.positive? ? (own / samples(own).to_f).round : SAMPLE_MS)
        end

        # @return [Integer] how many statistics come in the time between two that the user wants; 0: he wants none
        def self.samples(interval_ms) = (interval_ms / SAMPLE_MS.to_f).ceil

        def initialize(settings, reachability, clock: Clock)
          @reachability = reachability
          @clock = clock
          @every = Answers.samples(settings[:"statistics.interval.ms"].to_i)
          @samples = 0
          wait_ms = (settings[:"fetch.wait.max.ms"] || FETCH_WAIT_MS).to_i
          @limit = SILENT_SECONDS + (wait_ms / 1000.0)
          @answered_at = clock.now
          restart
        end

        # Another client takes the place of the one so far.
        def restart
          @brokers = {}
          @outside = 0
          @statistics = nil
        end

        def read(json)
          statistics = FORMAT.document(json)
          now = @clock.now
          joining = JOINING.include?(statistics.dig("cgrp", "join_state"))
          found = {}
          statistics["brokers"].each do |name, one|
            next if one["source"] == "internal"

            found[name] = state_of(one, @brokers[name], now, joining && one["source"] == "logical")
          end
          @brokers = found
          @outside = outside?(statistics) ? @outside + 1 : 0
          @statistics = statistics
        end

        # @return [Boolean] whether the client has a coordinator, and has never asked it to join by the consumer protocol: brokers before
        #   Kafka 3.7 do not know that request, and librdkafka neither sends it then nor says so
        def never_joins? = @outside >= OUTSIDE_SAMPLES

        # @return [Integer] how many requests to the group's coordinator had no answer in time, so far
        def coordinator_timeouts = (coordinator(@statistics)["req_timeouts"] if @statistics).to_i

        # After each {#read}: whether these statistics are for the user; librdkafka sends more than he has asked for.
        def statistics_due? = @every.positive? && ((@samples += 1) % @every).zero?

        # @return [Hash{String=>Object}, nil] what the latest statistics say of a partition; nil: nothing
        def of(topic, partition) = @statistics&.dig("topics", topic, "partitions", partition.to_s)&.to_h

        # @return [Float] since a broker has last answered this client
        def seconds = [@clock.now - @answered_at, 0.0].max

        # @return [Boolean] false: brokers have been asked, and none answers; true as well where nothing is asked of them
        def any?
          return true if seconds <= @limit

          brokers = @brokers.values
          brokers.none? { |broker| silent?(broker) } && brokers.any? { |broker| broker.down.nil? }
        end

        # @return [Boolean] whether the broker that has this partition answers, as far as it is known
        def from?(topic, partition)
          return false unless any?

          node = @statistics&.dig("topics", topic, "partitions", partition.to_s, "broker")
          broker = node && @brokers.each_value.find { |one| one.node == node }
          broker.nil? || !(silent?(broker) || down?(broker))
        end

        private

        # @return [Hash] empty: there is none yet
        def coordinator(statistics) = statistics["brokers"].each_value.find { |one| one["source"] == "logical" } || {}

        def outside?(statistics)
          return false unless [statistics.dig("cgrp", "state"), statistics.dig("cgrp", "join_state")] == OUTSIDE

          coordinator = coordinator(statistics)
          return false if coordinator.empty?

          coordinator["tx"] == coordinator["req"].sum { |name, count| name == HEARTBEAT ? 0 : count } # nothing else was sent
        end

        def state_of(one, before, now, joining)
          state = one["state"]
          broker = BrokerState.new(one["nodename"], one["nodeid"], one["rx"])
          broker.down = (before&.down || now) unless state == "UP"
          waits = state == "UP" ? one["waitresp_cnt"].positive? : CONNECTING.include?(state)
          broker.waiting = waiting_since(before, broker, one, now) if waits && !joining
          tell(broker, before, one, now)
          broker
        end

        # @return [Float, nil] nil: an answer has come since the last statistics, or there were none
        def waiting_since(before, broker, one, now)
          return unless before && before.received == broker.received
          return before.waiting if before.waiting

          idle = one["state"] == "UP" ? one.values_at("rxidle", "txidle") : [one["stateage"]]
          now - ((idle.compact.reject(&:negative?).min || 0) / MICROSECONDS)
        end

        def tell(broker, before, one, now)
          idle = one["rxidle"].to_i
          @answered_at = [@answered_at, now - (idle / MICROSECONDS)].max if broker.received.positive? && idle >= 0 && !broker.down
          return @reachability.silent(broker.address, now - broker.waiting) if silent?(broker)

          @reachability.answered(broker.address) if before && broker.down.nil? && broker.received > before.received
        end

        def silent?(broker) = !broker.waiting.nil? && @clock.now - broker.waiting > @limit
        def down?(broker) = !broker.down.nil? && @clock.now - broker.down > @limit
      end
    end
  end
end
