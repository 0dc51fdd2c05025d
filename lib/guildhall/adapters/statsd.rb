# frozen_string_literal: true

module Guildhall
  module Adapters
    # Metrics for StatsD with Datadog's tags, by the gem dogstatsd-ruby. Counters are counts, distributions Datadog's distributions.
    #
    #     config.metrics << Guildhall::Adapters::StatsD.new(Datadog::Statsd.new("localhost", 8125))
    class StatsD
      SENDERS = {counter: :count, gauge: :gauge, distribution: :distribution}.freeze
      private_constant :SENDERS

      # @param client [#count, #gauge, #distribution] a `Datadog::Statsd`; it batches, and its own tags are sent along
      # @param prefix [String] before each name
      def initialize(client, prefix: "")
        @client = client
        @prefix = prefix
        @names = {}
      end

      # Called by the application, in any of its threads. Does not block.
      # @param metric [Kafka::Metrics::Metric]
      # @param value [Numeric]
      # @param tags [Hash{Symbol=>Object}]
      # @return [void]
      def record(metric, value, tags)
        name = @names[metric] ||= "#{@prefix}#{metric.full_name}"
        @client.public_send(SENDERS.fetch(metric.type), name, value, tags: tags.map { |tag, said| "#{tag}:#{said}" })
      end
    end
  end
end
