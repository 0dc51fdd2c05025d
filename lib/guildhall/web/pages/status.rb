# frozen_string_literal: true

require_relative "failure"

module Guildhall
  class Web
    module Pages
      # Whether this page, and what it asks, are as they should be: each check that fails has the line that cures it.
      class Status < Page
        private

        def title = "Status"

        def data
          {checks: [cluster_check, groups_check, application_check], guildhall: VERSION, ruby: RUBY_VERSION, process: Process.pid}
        end

        # @return [Hash] ok, what was looked at, and what was found, or what to do
        def check(what)
          {ok: true, what:, found: yield}
        rescue Kafka::KafkaError => error
          {ok: false, what:, found: Printable.valid(error.message)}
        end

        def cluster_check
          check("Brokers") do
            found = cluster.cluster
            brokers = "#{Printable.count(found.brokers.size, "broker")} (#{found.brokers.join(", ")})"
            "#{brokers}, #{Printable.count(found.topics, "topic")}"
          end
        end

        def groups_check
          check("Consumer groups") do
            groups = cluster.groups
            raise groups.problems.first.error if groups.problems.any?

            "#{Printable.count(groups.size, "group")} can be seen"
          end
        end

        def application_check
          check("Routes") do
            next "none: only what brokers know is shown. With an application: guildhall web -r ./app.rb" if cluster.own_groups.none?

            "#{Printable.count(cluster.routes.size, "route")} of #{Printable.count(cluster.own_groups.size, "group")}"
          end
        end
      end
    end
  end
end
