# frozen_string_literal: true

require_relative "session"

module Guildhall
  module Kafka
    module Broker
      # Some payloads of a topic, to measure and to check with.
      module PayloadSample
        QUIET = 2 # of the levels of syslog: what goes wrong is raised
        private_constant :QUIET

        # Blocks until that many were read, or there are no more.
        # @param servers [String] as for `bootstrap.servers`
        # @param limit [Integer] of each partition the first ones, about as many of each
        # @return [Array<String>] without those of tombstones
        # @raise [UnknownTopicError]
        # @raise [KafkaError]
        def self.read(topic, servers, limit:)
          Session.open({"bootstrap.servers": servers, "group.id": "guildhall-advise", log_level: QUIET}) do |session|
            ranges = session.ranges_of(session.topic(topic)).reject { |_, range| range.none? }
            payloads = []
            until ranges.empty? || payloads.size >= limit
              share = [(limit - payloads.size).ceildiv(ranges.size), 1].max
              ranges = ranges.to_h do |number, range|
                first = session.each_record(topic, number, range, limit: share) { |record| payloads << record.raw_payload }
                [number, first...range.end]
              end
              ranges = ranges.reject { |_, range| range.none? }
              payloads.compact! # without tombstones
            end
            payloads.first(limit)
          end
        end
      end
    end
  end
end
