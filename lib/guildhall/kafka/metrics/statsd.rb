# frozen_string_literal: true

require "guildhall/option_rules"
require "guildhall/soft_dependency"

begin
  require "datadog/statsd" # Bundler does not: the gem has another name than its file
rescue LoadError
  nil # another client with these methods will do, and {Guildhall::Kafka::Metrics::StatsD} says what is missing where none is given
end

module Guildhall
  module Kafka
    module Metrics
      # Metrics for StatsD with Datadog's tags, by the gem dogstatsd-ruby. Counters are counts, distributions Datadog's distributions.
      #
      #     config.metrics << Guildhall::Kafka::Metrics::StatsD.new(host: "localhost", port: 8125)
      class StatsD
        SENDERS = {counter: :count, gauge: :gauge, distribution: :distribution}.freeze
        RULES = OptionRules.new(
          "argument",
          client: OptionRules.object("a Datadog::Statsd, of the gem dogstatsd-ruby", *SENDERS.values).or(nil),
          host: OptionRules.kind("a String", String).or(nil), port: OptionRules.integer.or(nil),
          prefix: OptionRules.kind("a String", String)
        )
        private_constant :SENDERS, :RULES

        # @param client [#count, #gauge, #distribution, nil] a `Datadog::Statsd`, or another client with these methods; it batches, and its
        #   own tags are sent along. nil: a `Datadog::Statsd` for the host and port
        # @param host [String, nil] nil, as for the port: what the gem takes for the default
        # @param prefix [String] before each name
        # @raise [MissingDependencyError] without a client and without the gem dogstatsd-ruby
        # @raise [Guildhall::ArgumentError] for a client that cannot send all of them
        def initialize(client = nil, host: nil, port: nil, prefix: "")
          RULES.check!({client:, host:, port:, prefix:}, owner: self.class)
          if client && (host || port)
            raise Guildhall::ArgumentError, "#{self.class}: the client has its own host and port: give either a client, or host and port"
          end

          @client = client || connect(host, port)
          @prefix = prefix
          @names = {}
        end

        def record(metric, value, tags)
          name = @names[metric] ||= "#{@prefix}#{metric.full_name}"
          @client.public_send(SENDERS.fetch(metric.type), name, value, tags: tags.map { |tag, said| "#{tag}:#{said}" })
        end

        private

        def connect(host, port)
          SoftDependency.require!("datadog/statsd", gem: "dogstatsd-ruby", purpose: self.class.name)
          Datadog::Statsd.new(host, port)
        end
      end
    end
  end
end
