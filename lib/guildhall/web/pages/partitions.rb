# frozen_string_literal: true

require_relative "commands"
require_relative "reported"

module Guildhall
  class Web
    module Pages
      # The chart of how old the oldest message is that is not done, with what happened meanwhile.
      module AgeChart
        HOURS = [1, 6, 24].freeze
        POINTS = 240 # of a line
        EVENTS = %w[started rebalanced stalled lost failed].freeze
        MAX_EVENTS = 6
        SHORTEST = 10 # minutes of a chart
        private_constant :HOURS, :POINTS, :EVENTS, :MAX_EVENTS, :SHORTEST

        private

        def reports = @reports ||= cluster.reports(hours:)
        def hours = HOURS.find { |hours| hours == @request.text("hours").to_i } || HOURS.first

        # @param lines [Hash{String=>Array<Numeric, nil>}]
        def chart(at, lines, group)
          lines = lines.select { |_, values| values.compact.size > 1 }
          at, lines = since_known(at, lines)
          each = (at.size / POINTS.to_f).ceil
          {at: at.each_slice(each).map(&:first), unit: "seconds", hours:, all_hours: HOURS,
           lines: lines.map { |name, values| {name:, values: values.each_slice(each).map { |some| some.compact.max }} },
           events: chart_events(at, group)}
        end

        # What ran for a minute only would be a dot in an hour.
        def since_known(at, lines)
          first = lines.each_value.filter_map { |values| values.index { |value| !value.nil? } }.min || at.size
          first = [first, at.size - SHORTEST].min.clamp(0..)
          [at.drop(first), lines.transform_values { |values| values.drop(first) }]
        end

        # @param now [Hash] its row
        # @return [Array<Float, nil>] of one partition
        def ages(partition, now)
          found = reports.ages(group, topic, partition)
          [*Array.new((hours - 1) * 60), *found["age"], age(now)]
        end

        # Each whole minute, and the one that has begun: that has what the last reports say.
        # @param oldest [Hash, nil] the row of the partition that has it
        # @return [Array(Array<Float>, Array<Float, nil>)] when, and the age of the topic's oldest message
        def ages_of_topic(series, oldest) = [[*series["at"], series["at"].last + 60], [*series["age"], age(oldest)]]

        def age(row) = (Kafka::Reporting::Wording.age(row).to_f if row)

        # The first process that starts a release stands for it.
        def chart_events(at, group)
          found = reports.events.select do |event|
            event.at.between?(at.first, at.last) && EVENTS.include?(event.name) && concerns?(event, group)
          end
          texts = found.map do |event|
            {at: event.at, text: event.name == "started" ? "release #{event.record["release"] || "?"} starts" : event.name}
          end
          texts.uniq do |event|
            event[:text].start_with?("release") ? event[:text] : [event[:text], (event[:at] / 60).floor]
          end.last(MAX_EVENTS)
        end

        def concerns?(event, group) = event.record["group"].nil? || event.record["group"] == group
      end

      # The partitions of one topic in one group: state and why, what is worst first.
      class Partitions < Page
        include Reported
        include Commanded
        include AgeChart

        SORTS = %w[trouble number lag].freeze
        private_constant :SORTS

        private

        def group = names.fetch(:group)
        def topic = names.fetch(:topic)
        def crumbs = {"Groups" => ["groups"], group => ["groups", group]}
        def title = "#{topic} in #{group}"

        def data
          found = reports.rows(group, topic)
          {group:, topic:, missing:, **partition_commands(group, topic),
           summary: (summary(own_topics) if own_topics.any?), chart: age_chart(found), numbers: numbers?,
           sort: sort(SORTS), sorts: SORTS, trouble: trouble(own_topics), most: own_topics.filter_map(&:age).max,
           **paged(sorted(narrowed(found)), found.size) { |row| partition_row(row) }, lost: lost_rows(found), route: route(found)}
        end

        def own_topics = @own_topics ||= reports.topics.select { |one| one.group == group && one.topic == topic }

        # A number is a partition's.
        def narrowed(rows)
          return rows.select { |found| found.row["partition"] == wanted.to_i } if wanted&.match?(/\A\d+\z/)

          narrow(rows) do |found|
            row = shown(found)
            ["#{topic}/#{row["partition"]}", Wording.state(row), *Wording.why(row), found.last.name]
          end
        end

        def sorted(rows)
          case sort(SORTS)
          when "number" then rows
          when "lag" then rows.sort_by { |found| [-found.row["lag"].to_i, found.row["partition"]] }
          else rows.sort_by { |found| by_trouble(found) }
          end
        end

        # The whole topic by minutes, and the two partitions that are furthest behind, for as long as they were looked at.
        def age_chart(rows)
          series = reports.series(minutes: hours * 60, group:, topic:)
          return if series["age"].none?

          oldest = rows.map(&:row).max_by(2) { |row| age(row) }
          worst = oldest.select { |row| age(row) > reports.limits.of(topic).old }
          lines = worst.to_h { |row| ["#{topic}/#{row["partition"]}", ages(row["partition"], row)] }
          at, all = ages_of_topic(series, oldest.first)
          chart(at, {**lines, (lines.any? ? "the topic, its worst" : "the worst partition") => all}, group)
        end

        # What a process had that is lost, and nobody has by now.
        def lost_rows(rows)
          held = rows.to_set { |found| found.row["partition"] } if reports.lost.any?
          reports.lost.flat_map do |last|
            (last.report["topics"] || []).select { |one| one["topic"] == topic && one["group"] == group }.flat_map do |one|
              one["partitions"].reject { |row| held.include?(row["partition"]) }.map do |row|
                partition_row(Reports::View::Row.new(row, one, last)).merge(at: last.at)
              end
            end
          end.uniq { |row| row[:partition] }
        end

        def route(found)
          first = found.first or return
          one = first.topic
          each = found.uniq(&:last)
          {consumer: one["consumer"], decoded_by: each.filter_map { |row| row.topic["decoded_by"] }.uniq,
           not_on_workers: one["not_on_workers"], dead_letters: one["dead_letter_topic"], max_retries: one["max_retries"],
           releases: each.filter_map { |row| row.last.report["release"] }.tally.sort_by { |_, count| -count }.to_h}
        end
      end

      # One partition: what it does, and why.
      class Partition < Page
        include Reported
        include Commanded
        include AgeChart

        CHANGES = 20
        private_constant :CHANGES

        private

        def group = names.fetch(:group)
        def topic = names.fetch(:topic)
        def crumbs = {"Groups" => ["groups"], group => ["groups", group], topic => ["groups", group, topic]}
        def title = "#{topic}/#{number}"
        def number = @request.number(:partition)

        def data
          found = reports.row(group, topic, number)
          {group:, topic:, partition: number, missing:, **partition_commands(group, topic, number), held: !found.nil?,
           **(found ? held(found) : {}), numbers: numbers?, chart: age_chart, broker: broker, changes: partition_changes}
        end

        def held(found)
          row = shown(found)
          {row: partition_row(found), until: left(row),
           error: error(row), keys: row["parked"], in_memory: row["in_memory"], committed: row["committed"], ranges: row["ranges"],
           done_behind: row["done_behind"], done_unlisted: unlisted(row),
           assigned: row["assigned"], member: row["member"], transaction: row["transaction"],
           without_progress: row["without_progress"], working_at: row["working_at"], isolating: row["isolating"],
           collapsed: row["collapsed"],
           decoded_by: found.topic["decoded_by"], not_on_workers: found.topic["not_on_workers"], consumer: found.topic["consumer"],
           dead_letters: found.topic["dead_letter_topic"], max_retries: found.topic["max_retries"]}
        end

        # @return [Integer] messages that are done and lie in none of the ranges that its report names
        def unlisted(row) = [row["done_behind"].to_i - (row["ranges"] || []).sum { |first, last| last - first + 1 }, 0].max

        # @return [Float, nil] seconds until it goes on by itself
        def left(row)
          rests = row["rests"] || {}
          reasons = row["state"] == "paused" ? %w[user command] : [row["state"]]
          found = rests.values_at(*reasons).compact.map { |rest| rest["left"] }
          found.max unless found.include?(nil)
        end

        # With the frames that the cause has, whoever has reported it.
        def error(row)
          error = row["error"] or return
          cause = reports.cause_of(error)
          if cause
            found = {fingerprint: cause.fingerprint, backtrace: cause.record["backtrace"], release: cause.release, began: cause.first}
          end
          {**error.transform_keys(&:to_sym), said: Kafka::Reporting::Wording.error(error), **found.to_h}
        end

        def age_chart
          series = reports.series(minutes: hours * 60, group:, topic:)
          return if series["age"].none?

          at, all = ages_of_topic(series, reports.rows(group, topic).map(&:row).max_by { |row| age(row) })
          chart(at, {title => ages(number, reports.row(group, topic, number)&.row), "the topic, its worst" => all}, group)
        end

        # @return [Hash, nil] what the group has committed, as the brokers know it; nil: they do not say
        def broker
          row = cluster.lag(group).find { |one| one.topic == topic && one.partition == number } or return
          {committed: row.committed, end: row.end_offset, messages: row.messages, oldest: row.seconds}
        rescue Kafka::KafkaError
          nil
        end

        def partition_changes
          changes(reports.events.select do |event|
            record = event.record
            record["group"] == group && (record["topic"].nil? || (record["topic"] == topic && [nil, number].include?(record["partition"])))
          end, CHANGES)
        end
      end
    end
  end
end
