# frozen_string_literal: true

require_relative "groups"

module Guildhall
  class Web
    module Pages
      # What needs attention, by what the brokers know, and the application's groups.
      class Overview < Page
        include GroupRows

        # Ages of the oldest message, in seconds, from which it is said, and is bad.
        OLDEST = {"bad" => 300, "warn" => 60}.freeze
        private_constant :OLDEST

        private

        def title = "Overview"

        def data
          lag = own_lag
          groups = cluster.groups
          rows = lag.group_by(&:group)
          own = groups.select { |group| cluster.own_groups.include?(group.name) }
          {attention: attention(own, rows, cluster.topics), groups: own.map { |group| group_row(group, rows.fetch(group.name, [])) },
           partitions: lag.size, messages: lag.sum(&:messages), oldest: lag.filter_map(&:seconds).max, topics: cluster.topics.size,
           other_groups: groups.size - own.size, routes: cluster.own_groups.any?, problems: problems(groups, lag)}
        end

        # @return [Array<Hash>] kind, where, what and why, each a sentence; the worst first
        def attention(groups, rows, topics)
          found = topics.map { |topic| topic_rule(topic) }
          groups.each do |group|
            lag = rows.fetch(group.name, [])
            found.push(group_rule(group, lag), *lag.map { |row| partition_rule(row) })
          end
          together(found.compact).sort_by { |one| one[:kind] == "bad" ? 0 : 1 }
        end

        # Partitions of one topic that have the same are one line.
        def together(found)
          found.group_by { |one| one.values_at(:kind, :group, :topic, :what) }.map do |_, same|
            first = same.max_by { |one| one[:since].to_f }
            same.one? ? first : {**first, why: "#{Printable.count(same.size, "partition")}, of these the worst: #{first[:why]}"}
          end
        end

        def topic_rule(topic)
          if topic.without_leader.positive?
            {kind: "bad", topic: topic.name, what: "has partitions without a leader",
             why: "#{Printable.count(topic.without_leader, "partition")} can be neither read nor written: brokers that have them are down"}
          elsif topic.under_replicated.positive?
            {kind: "warn", topic: topic.name, what: "has too few copies in sync",
             why: "#{Printable.count(topic.under_replicated, "partition")}: a broker is down, or does not keep up"}
          end
        end

        def group_rule(group, lag)
          left = lag.sum(&:messages)
          return unless group.state == :empty && left.positive?

          {kind: "bad", group: group.name, what: "has no members",
           why: "#{Printable.count(left, "message")} wait, and nobody consumes them: start `guildhall server`"}
        end

        def partition_rule(row)
          if row.beyond_end?
            return {kind: "bad", group: row.group, topic: row.topic, what: "has committed beyond the end",
                    why: "partition #{row.partition}: offset #{row.committed} of #{row.end_offset}; the topic was made anew, or somebody " \
                         "has committed too far: it begins anew, as auto.offset.reset says"}
          end

          kind, = OLDEST.find { |_, limit| row.seconds && row.seconds >= limit }
          return if kind.nil? || row.caught_up_in&.<(OLDEST["warn"])

          {kind:, group: row.group, topic: row.topic, what: "is behind", since: row.seconds,
           why: "partition #{row.partition}: #{Printable.count(row.messages, "message")}, the oldest for #{Kafka::Reporting::Wording.duration(row.seconds)}"}
        end
      end
    end
  end
end
