# frozen_string_literal: true

require "guildhall/option_rules"
require "guildhall/soft_dependency"
require_relative "../metrics"

module Guildhall
  module Kafka
    module Metrics
      # Metrics for Prometheus, by the gem prometheus-client. All of them are registered at once, so that a dashboard finds them before they
      # have values.
      #
      #     config.metrics << Guildhall::Kafka::Metrics::Prometheus.new
      class Prometheus
        RULES = OptionRules.new(
          "argument", registry: OptionRules.object("a Prometheus::Client::Registry", :exist?, :get, :counter, :gauge, :histogram).or(nil)
        )
        private_constant :RULES

        # @return [Symbol] such as :guildhall_consumed_messages_total; by Prometheus' conventions a counter ends with "_total"
        def self.name_of(metric) = :"#{metric.full_name.tr(".", "_")}#{"_total" if metric.type == :counter}"

        # @param registry [::Prometheus::Client::Registry, nil] nil: the process's
        # @raise [MissingDependencyError] without the gem prometheus-client
        # @raise [Guildhall::ArgumentError] for what is no registry, and for one that has another metric of the same name
        def initialize(registry = nil)
          RULES.check!({registry:}, owner: self.class)
          SoftDependency.require!("prometheus/client", gem: "prometheus-client", purpose: self.class.name)
          @registry = registry || ::Prometheus::Client.registry
          @metrics = LIST.to_h { |metric| [metric.name, register(metric)] }
        end

        def record(metric, value, tags)
          labels = tags.transform_values(&:to_s)
          one = @metrics.fetch(metric.name)
          case metric.type
          when :counter then one.increment(by: value, labels:)
          when :gauge then one.set(value, labels:)
          else one.observe(value, labels:)
          end
        end

        # @return [String] all metrics of the registry, in Prometheus' text format
        def text
          require "prometheus/client/formats/text"
          ::Prometheus::Client::Formats::Text.marshal(@registry)
        end

        private

        # Uses a metric again that is registered already (after a reload, by another application).
        def register(metric)
          name = self.class.name_of(metric)
          type = {distribution: :histogram}.fetch(metric.type, metric.type)
          return registered(metric, type, @registry.get(name)) if @registry.exist?(name)

          buckets = {buckets: SECONDS} if type == :histogram
          @registry.public_send(type, name, docstring: metric.description, labels: metric.tags, **buckets)
        end

        def registered(metric, type, one)
          return one if one.type == type && one.labels.sort == metric.tags.sort

          raise Guildhall::ArgumentError, "#{self.class}: the registry has another metric #{one.name}, a #{one.type} with the labels " \
                                          "[#{one.labels.join(", ")}]: rename that, or use a registry of its own"
        end
      end
    end
  end
end
