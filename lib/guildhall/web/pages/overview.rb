# frozen_string_literal: true

require_relative "../broker_rules"
require_relative "groups"

module Guildhall
  class Web
    module Pages
      # What needs attention, by what processes report and brokers know, the application's groups, its processes, and what changed.
      class Overview < Page
        include GroupRows

        PROCESSES = 10
        CHANGES = 10
        HOUR = 3_600
        private_constant :PROCESSES, :CHANGES, :HOUR

        private

        def title = "Overview"

        # With what brokers know.
        def counts
          found = @data[:attention]
          return super.except(nil) if found.empty?

          number = Printable.count(found.size, "thing that needs attention", "things that need attention")
          super.merge(nil => [found.any? { |one| one[:kind] == "bad" } ? "bad" : "warn", found.size, number])
        end

        def data
          lag = ask { cluster.lag }
          groups = ask { cluster.groups }
          own = groups.select { |group| own?(group.name) }
          notes, attention = needs(own, lag).map { |one| item(one) }.partition { |one| one[:kind] == "rest" }
          {attention:, notes:, figures: figures(lag), groups: group_rows(own, lag), **known_to_brokers(groups, own, lag),
           processes: processes.first(PROCESSES).map { |last| process_row(last) }, all_processes: reports.processes.size,
           changes: recent_changes,
           minutes: reports.known_minutes, history: (reports.series if numbers? && reports.any?), missing:, problems: problems(groups, lag)}
        end

        def known_to_brokers(groups, own, lag)
          oldest = oldest(lag)
          {partitions: partitions(lag), messages: lag.sum(&:messages), oldest:, keeping_up: young?(oldest), topics: topics.size,
           other_groups: groups.size - own.size, routes: cluster.own_groups.any?}
        end

        def topics = ask { cluster.topics }

        # Reports know what is done, brokers what is committed.
        def partitions(lag) = reports.topics.any? ? reports.topics.sum(&:partitions) : lag.size
        def oldest(lag) = reports.topics.any? ? reports.topics.filter_map(&:age).max : lag.filter_map(&:seconds).max

        def recent_changes = changes(reports.events.select { |event| reports.now - event.at < HOUR }, CHANGES)

        def figures(lag)
          return [] unless reports.any?

          series = reports.series.transform_values { |values| known(values) }
          topics = reports.topics
          live = reports.live
          runners = live.filter_map { |last| last.report["runners"] }
          age = oldest(lag)
          [figure("Oldest not done", age, "seconds", series["age"], hot: very_old?(age)),
           figure("Not done", topics.filter_map(&:lag).sum, "count", series["lag"], note: "messages"),
           figure("Consumed", topics.filter_map(&:rate).sum, "rate", series["consumed"]),
           figure("Errors", reports.recent_errors, "count", series["errors"], note: "in 10 minutes"),
           figure("Processes", live.size, "count", series["processes"], note: processes_note, hot: reports.lost.any?),
           figure("Runners busy", runners.sum { |one| one["busy"] }, "count", series["busy"],
             note: "of #{runners.sum { |one| one["all"] }} · #{runners.sum { |one| one["waiting"] }} wait")]
        end

        def processes_note
          of = "of #{reports.live.size + reports.lost.size} · " if reports.lost.any?
          "#{of}#{Printable.count(reports.topics.sum(&:partitions), "partition")}"
        end

        def figure(name, value, unit, series, note: nil, hot: false) = {name:, value:, unit:, series:, note:, hot:}

        # @return [Array<Kafka::Reporting::Attention::Item>] the worst first
        def needs(groups, lag)
          rules = BrokerRules.new(topics:, groups:, unknown: unknown(groups), lag:, reported: reports.groups.keys,
            now: reports.now, limits: reports.limits)
          Attention.list([*attention_items, *rules.items])
        end
      end
    end
  end
end
