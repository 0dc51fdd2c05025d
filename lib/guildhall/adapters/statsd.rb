# frozen_string_literal: true

require "guildhall/option_rules"

begin
  require "datadog/statsd" # Bundler does not: the gem has another name than its file
rescue LoadError
  nil # another client with these methods will do
end

module Guildhall
  module Adapters
    # Metrics for StatsD with Datadog's tags, by the gem dogstatsd-ruby. Counters are counts, distributions Datadog's distributions.
    #
    #     config.metrics << Guildhall::Adapters::StatsD.new(Datadog::Statsd.new("localhost", 8125))
    class StatsD
      SENDERS = {counter: :count, gauge: :gauge, distribution: :distribution}.freeze
      RULES = OptionRules.new(
        "argument",
        client: OptionRules.object("a Datadog::Statsd, of the gem dogstatsd-ruby", *SENDERS.values),
        prefix: OptionRules.kind("a String", String)
      )
      private_constant :SENDERS, :RULES

      # @param client [#count, #gauge, #distribution] a `Datadog::Statsd`; it batches, and its own tags are sent along
      # @param prefix [String] before each name
      # @raise [Guildhall::ArgumentError] for a client that cannot send all of them
      def initialize(client, prefix: "")
        RULES.check!({client:, prefix:}, owner: self.class)
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
