# frozen_string_literal: true

require_relative "failure"

module Guildhall
  class Web
    module Pages
      # Rows of consumer groups, for the pages that have some.
      module GroupRows
        STATES = {empty: "no members", stable: "stable", dead: "gone"}.freeze
        private_constant :STATES

        private

        # @return [Kafka::Broker::Answer] empty: the application has no groups
        def own_lag = cluster.own_groups.any? ? cluster.lag : Kafka::Broker::Answer.new([], [])

        # @param group [Kafka::Admin::Groups::Group]
        # @param lag [Array<Kafka::Broker::LagWatch::Row>, nil] of this group; nil: it was not asked for
        def group_row(group, lag)
          {name: group.name, state: group.state.name, kind: kind(group, lag), word: STATES.fetch(group.state, "rebalancing"),
           members: group.members&.size, **totals(lag)}
        end

        def totals(lag)
          return {} unless lag

          {messages: lag.sum(&:messages), oldest: lag.filter_map(&:seconds).max, partitions: lag.size,
           rate_in: sum(lag.map(&:rate_in)), rate_out: sum(lag.map(&:rate_out))}
        end

        def sum(rates) = (rates.compact.sum if rates.any?)

        def kind(group, lag)
          return "idle" if group.state == :dead
          return lag&.any? { |row| row.messages.positive? } ? "bad" : "idle" if group.state == :empty

          group.state == :stable ? "ok" : "warn"
        end

        def problems(*answers) = answers.flat_map(&:problems).map { |problem| Printable.valid(problem.to_s) }.uniq
      end

      # All consumer groups; those of the application with how far they are behind.
      class Groups < Page
        include GroupRows

        private

        def title = "Groups"

        def data
          groups = cluster.groups
          lag = own_lag
          rows = lag.group_by(&:group)
          own, others = groups.partition { |group| cluster.own_groups.include?(group.name) }
          missing = cluster.own_groups - own.map(&:name)
          {own: own.map { |group| group_row(group, rows.fetch(group.name, [])) }, missing:,
           others: others.map { |group| group_row(group, nil) }, problems: problems(groups, lag)}
        end
      end

      # One consumer group: its partitions, what is furthest behind first, and its members.
      class Group < Page
        include GroupRows

        private

        def crumbs = {"Groups" => ["groups"]}
        def title = name
        def name = names.fetch(:group)

        def data
          group = cluster.group(name)
          lag = cluster.lag(name)
          owners = owners(group)
          {group: group_row(group, lag), protocol: group.protocol&.name, assignor: group.assignor, coordinator: group.coordinator&.to_s,
           partitions: lag.map { |row| partition(row, owners) }, members: group.members&.map { |member| member(member) },
           problems: problems(lag)}
        end

        def owners(group)
          group.members.to_a.each_with_object({}) do |member, owners|
            member.partitions.each { |topic, numbers| numbers.each { |number| owners[[topic, number]] = member.to_s } }
          end
        end

        def partition(row, owners)
          caught_up_in = row.caught_up_in
          {topic: row.topic, partition: row.partition, committed: row.committed, end: row.end_offset, messages: row.messages,
           oldest: row.seconds, rate_in: row.rate_in, rate_out: row.rate_out,
           caught_up_in: (caught_up_in if caught_up_in&.finite?), beyond_end: row.beyond_end?, member: owners[[row.topic, row.partition]]}
        end

        def member(member) = {id: member.id, name: member.to_s, partitions: member.partition_count}
      end
    end
  end
end
