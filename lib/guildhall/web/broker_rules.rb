# frozen_string_literal: true

require "guildhall/printable"
require "guildhall/kafka/reporting/attention"

module Guildhall
  class Web
    # What needs a person, by what brokers know: rules as those of {Reports::Rules} are by what processes report.
    # @api private
    class BrokerRules
      Attention = Kafka::Reporting::Attention
      SERVER = "start guildhall server"
      private_constant :Attention, :SERVER

      # @param topics [Array<Kafka::Admin::Topics::Topic>]
      # @param groups [Array<Kafka::Admin::Groups::Group>] the application's, and others that processes report of
      # @param unknown [Array<String>] groups of the application that the brokers do not have
      # @param lag [Array<Kafka::Broker::LagWatch::Row>] of all these groups
      # @param reported [Array<String>] groups that processes report of: they know better how old messages are
      # @param limits [Kafka::Reporting::Limits]
      def initialize(topics:, groups:, unknown:, lag:, reported:, now:, limits: Kafka::Reporting::Limits::DEFAULT)
        @now = now
        @limits = limits
        @topics = topics
        @groups = groups
        @unknown = unknown
        @lag = lag.group_by(&:group)
        @reported = reported
      end

      # @return [Array<Kafka::Reporting::Attention::Item>] partitions of one topic that have the same are one
      def items = together([*@topics.filter_map { |topic| topic_rule(topic) }, *unknown, *@groups.flat_map { |group| group_rules(group) }])

      private

      def item(severity, what, why, **) = Attention::Item.new(severity:, what:, why:, process: nil, place: nil, label: nil, **)

      def together(items)
        items.group_by { |one| [one.severity, one.group, one.topic, one.what] }.each_value.map do |same|
          worst = same.min_by { |one| one.began.to_f }
          same.one? ? worst : worst.with(why: "#{Printable.count(same.size, "partition")}, of these the worst: #{worst.why}")
        end
      end

      def topic_rule(topic)
        if topic.without_leader.positive?
          why = "#{Printable.count(topic.without_leader, "partition")} can be neither read nor written: brokers that have them are down"
          item(:bad, "has partitions without a leader", why, topic: topic.name,
            help: "bring these brokers back: the topic's page names them")
        elsif topic.under_replicated.positive?
          why = "#{Printable.count(topic.under_replicated, "partition")}: a broker is down, or does not keep up"
          item(:warn, "has too few replicas in sync", why, topic: topic.name, help: "look at the broker that the topic's page names")
        end
      end

      # A group that has committed is there, even where the list of groups lacks it: its broker did not answer, say.
      def unknown
        found = @unknown.select { |group| @lag.fetch(group, []).none?(&:committed) }
        found.filter_map do |group|
          waiting = waiting(group) or next
          item(:bad, "has consumed nothing yet", "#{waiting}; the brokers do not know this group: it is new, or was deleted", group:,
            help: SERVER)
        end
      end

      def group_rules(group)
        waiting = waiting(group.name) if group.state == :empty
        rows = @lag.fetch(group.name, [])
        rows = rows.select(&:beyond_end?) if @reported.include?(group.name)
        alone = item(:bad, "has no members", waiting, group: group.name, help: SERVER) if waiting
        [*alone, *rows.filter_map { |row| partition_rule(row) }]
      end

      # @return [String, nil] nil: nothing waits
      def waiting(group)
        left = @lag.fetch(group, []).sum(&:messages)
        return unless left.positive?

        "#{Printable.count(left, "message is", "messages are")} not committed, and nobody consumes"
      end

      def partition_rule(row)
        place = {group: row.group, topic: row.topic}
        if row.beyond_end?
          why = "partition #{row.partition}: offset #{row.committed}, although the topic ends at #{row.end_offset}; the topic was " \
                "recreated, or somebody has committed too far: the group begins anew, as auto.offset.reset says"
          return item(:bad, "has committed beyond the end", why, **place)
        end

        limits = @limits.of(row.topic)
        return if row.seconds.nil? || row.seconds < limits.old || row.caught_up_in&.<(limits.old)

        severity = row.seconds >= limits.very_old ? :bad : :warn
        why = "partition #{row.partition}: #{Printable.count(row.messages, "message")} not committed, the oldest " \
              "#{Printable.duration(row.seconds)} old"
        item(severity, "is behind", why, began: @now - row.seconds, **place,
          help: "start more processes, up to one for each partition, or find what makes consumers slow")
      end
    end
  end
end
