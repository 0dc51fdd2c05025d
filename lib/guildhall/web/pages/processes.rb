# frozen_string_literal: true

require_relative "commands"
require_relative "reported"

module Guildhall
  class Web
    module Pages
      # All processes that report, or did lately.
      class Processes < Page
        include Reported

        SORTS = %w[trouble name cpu memory].freeze
        private_constant :SORTS

        private

        def title = "Processes"

        def data
          found = narrow(sorted) { |last| [last.name, last.state(reports.now), *last.report.values_at("release", "app")] }
          {missing:, sort: sort(SORTS), sorts: SORTS, **paged(found, processes.size) { |last| process_row(last) },
           releases: reports.tally("release"), apps: reports.tally("app").keys, running: reports.live.size, lost: reports.lost.size}
        end

        def sorted
          case sort(SORTS)
          when "name" then processes.sort_by(&:name)
          when "cpu" then processes.sort_by { |last| -last.cores.to_f }
          when "memory" then processes.sort_by { |last| -last.report["rss"].to_i }
          else processes
          end
        end
      end

      # One process: what it does, or did last.
      class OneProcess < Page
        include Reported
        include Commanded

        PARTITIONS = 200
        CHANGES = 30
        private_constant :PARTITIONS, :CHANGES

        private

        def crumbs = {"Processes" => ["processes"]}
        def title = Kafka::ProcessName.short(names.fetch(:process))

        def data
          last = reports.process(names.fetch(:process))
          {name: names.fetch(:process), missing:, **process_commands(names.fetch(:process)), found: !last.nil?,
           **(last ? whole(last) : {}), numbers: numbers?,
           changes: changes(reports.events.select { |event| event.record["process"] == names.fetch(:process) }, CHANGES)}
        end

        def whole(last)
          report = last.report
          found = attention_items.select { |item| item.process == last.name || (last.ended? && item.place == last.short) }
          rows = rows(last).sort_by { |one| by_trouble(one) }
          {row: process_row(last), attention: found.map { |item| item(item) },
           partitions: rows.first(PARTITIONS).map { |one| partition_row(one) }, all: rows.size, working: working(last),
           usage: reports.usage(last.name).transform_values { |series| known(series) },
           probes: {live: report["live"] || [], ready: report["ready"] || []},
           pool: report["pool"], flight: report["flight"], queued: report.dig("producer", "queued"), threads: report["threads"],
           groups: groups(report), ruby: report["ruby"], pid: report["pid"], host: report["host"], number: report["number"],
           started: report["started"], failure: report["failure"], before: report["before"], last: last.lost?(reports.now)}
        end

        def rows(last)
          (last.report["topics"] || []).flat_map do |topic|
            topic["partitions"].map { |row| Reports::View::Row.new(row, topic, last) }
          end
        end

        # @return [Array<Hash>] what its runners work on, the longest first
        def working(last)
          found = (last.report["topics"] || []).flat_map do |topic|
            topic["partitions"].filter_map do |row|
              next unless row["without_progress"]

              {group: topic["group"], topic: topic["topic"], partition: row["partition"], seconds: row["without_progress"],
               word: Kafka::Reporting::Wording.state(row)}
            end
          end
          found.sort_by { |row| -row[:seconds] }.first(20)
        end

        def groups(report)
          (report["groups"] || []).flat_map do |group|
            group["members"].map do |member|
              {group: group["group"], number: member["number"], polled: member["polled"], partitions: member["partitions"],
               rebalances: member["rebalances"], lost: member["lost"], commits: member["commits"], failed: member["failed_commits"],
               error: member["commit_error"], answered: member["answered"] == true, silence: member["silence"]}
            end
          end
        end
      end

      # What has happened in a day, the latest first.
      class Changes < Page
        include Reported

        MAX = 500
        private_constant :MAX

        private

        def title = "What changed"
        def data = {missing:, **paged(changes(reports.events, MAX))}
      end

      # Whether workers are worth it: of each topic the way that its payloads go, of each process its pool.
      class Pool < Page
        include Reported

        private

        def title = "Pool"

        def data
          pools = reports.live.select { |last| last.report["pool"] }
          {missing:, ways: ways, tasks: tasks(pools), **paged(pools.sort_by(&:name)) { |last| pool(last) }}
        end

        def pool(last) = {name: last.name, short: reports.label(last.name), **last.report["pool"].transform_keys(&:to_sym)}

        # Processes of different releases may decode in different places.
        def ways
          found = reports.live.flat_map do |last|
            (last.report["topics"] || []).map do |topic|
              [topic.values_at("group", "topic", "decoded_by", "not_on_workers"), last]
            end
          end
          rows = found.group_by(&:first).map do |(group, topic, way, reason), some|
            {group:, topic:, way: way || "not decoded", reason:, processes: some.size}
          end
          rows.sort_by { |row| [row[:group], row[:topic], row[:way]] }
        end

        # @return [Array<Hash>] the same task of all processes: how much faster workers are
        def tasks(pools)
          found = pools.flat_map { |last| last.report["pool"]["tasks"] || [] }.select { |task| task["gain"] }
          found.group_by { |task| task["task"] }.map do |task, some|
            gains = some.map { |one| one["gain"] }.sort
            {task:, gain: gains[gains.size / 2], lowest: gains.first, highest: gains.last,
             bytes: some.filter_map { |one| one["bytes"] }.max, payloads: some.sum { |one| one["payloads"].to_i },
             parallel: some.count { |one| one["parallel"] }, processes: some.size}
          end.sort_by { |row| -row[:gain] }
        end
      end
    end
  end
end
