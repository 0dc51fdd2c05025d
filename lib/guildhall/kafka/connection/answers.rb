# frozen_string_literal: true

require "guildhall/clock"

module Guildhall
  module Kafka
    module Connection
      # Whether brokers answer one client, by librdkafka's statistics: a broker that is frozen keeps its connections open, and librdkafka
      # itself says nothing of it for a minute. Read by the listener's thread, asked by any.
      class Answers
        SAMPLE_MS = 2_000
        # A broker that leaves a request without an answer for so long, beyond the time that a fetch may wait there, counts as silent.
        SILENT_SECONDS = 5
        CONNECTING = %w[CONNECT SSL_HANDSHAKE AUTH_LEGACY APIVERSION_QUERY AUTH_HANDSHAKE AUTH_REQ].freeze
        # The coordinator holds these requests back until the other members have come.
        JOINING = %w[wait-join wait-sync].freeze
        MICROSECONDS = 1_000_000.0
        FETCH_WAIT_MS = 500 # librdkafka's default
        # received: how many answers have come; waiting: since when one is waited for, nil: none is; down: since when there is no
        # connection.
        Broker = Struct.new(:address, :node, :received, :waiting, :down)
        private_constant :CONNECTING, :JOINING, :MICROSECONDS, :FETCH_WAIT_MS, :Broker

        # @param settings [Hash{Symbol=>Object}] a client's
        # @return [Hash{Symbol=>Object}] the same, with statistics often enough
        def self.settings(settings)
          own = interval_ms(settings)
          settings.merge("statistics.interval.ms": own ? (own / samples(own).to_f).round : SAMPLE_MS)
        end

        # @param interval_ms [Integer] how often the user wants statistics
        # @return [Integer] how many statistics come in this time
        def self.samples(interval_ms) = (interval_ms / SAMPLE_MS.to_f).ceil

        # @return [Integer, nil] how often the user wants statistics; nil: not at all
        def self.interval_ms(settings)
          own = settings[:"statistics.interval.ms"].to_i
          own if own.positive?
        end

        # @param settings [Hash{Symbol=>Object}] the client's
        # @param reachability [Reachability] gets to know what is found
        def initialize(settings, reachability, clock: Clock)
          @reachability = reachability
          @clock = clock
          wait_ms = (settings[:"fetch.wait.max.ms"] || FETCH_WAIT_MS).to_i
          @limit = SILENT_SECONDS + (wait_ms / 1000.0)
          @answered_at = clock.now
          @brokers = {}
          @statistics = nil
        end

        # Another client takes the place of the one so far.
        def restart
          @brokers = {}
          @statistics = nil
        end

        # @param statistics [#dig, #[]] librdkafka's
        def read(statistics)
          now = @clock.now
          joining = JOINING.include?(statistics.dig("cgrp", "join_state"))
          found = {}
          statistics["brokers"].each do |name, one|
            next if one["source"] == "internal"

            found[name] = look(@brokers[name], one, now, joining && one["source"] == "logical")
          end
          @brokers = found
          @statistics = statistics
        end

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

        def look(before, one, now, joining)
          state = one["state"]
          broker = Broker.new(one["nodename"], one["nodeid"], one["rx"])
          broker.down = (before&.down || now) unless state == "UP"
          broker.waiting = waiting(before, broker, one, now) unless joining || !waits?(state, one)
          heard(broker, before, one, now)
          broker
        end

        def waits?(state, one)
          state == "UP" ? one["waitresp_cnt"].positive? : CONNECTING.include?(state)
        end

        # As long as nothing comes.
        def waiting(before, broker, one, now)
          return unless before && before.received == broker.received

          before.waiting || (now - begun(one))
        end

        # @return [Float] for how many seconds, at least, what is waited for has been waited for
        def begun(one)
          idle = one["state"] == "UP" ? one.values_at("rxidle", "txidle") : [one["stateage"]]
          (idle.compact.reject(&:negative?).min || 0) / MICROSECONDS
        end

        def heard(broker, before, one, now)
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
