# frozen_string_literal: true

require_relative "reported"

module Guildhall
  class Web
    module Pages
      # Rows of consumer groups, for the pages that have some.
      module GroupRows
        include Reported

        STATES = {empty: "no members", stable: "stable", dead: "not known"}.freeze
        private_constant :STATES

        private

        # Whether it is the application's, or processes report of it.
        def own?(name) = cluster.own_groups.include?(name) || reports.groups.key?(name)

        # @param own [Array<Kafka::Admin::Groups::Group>]
        # @return [Array<String>] groups of the application that neither brokers nor processes know
        def unknown(own) = @unanswered ? [] : cluster.own_groups - own.map(&:name) - reports.groups.keys

        # @param own [Array<Kafka::Admin::Groups::Group>]
        # @return [Array<Hash>] a row for each, what is furthest behind first; what processes report goes before what brokers know
        def group_rows(own, lag)
          rows = lag.group_by(&:group)
          only_reported = reports.groups.keys - own.map(&:name)
          found = own.map { |group| {**group_row(group, rows.fetch(group.name, [])), **reported(group.name, group.state)} } +
                  only_reported.map { |name| {name:, members: nil, **reported(name, nil)} }
          found.sort_by.with_index { |row, index| [rank(row[:kind]), -row[:oldest].to_f, index] }
        end

        def reported(name, state)
          topics = reports.groups[name] or return {source: "brokers"}
          found = summary(topics)
          found = found.except(:kind, :word) if state == :empty
          {**found, source: "reports", series: known(reports.series(group: name)["age"]), topics: topics.map(&:topic)}
        end

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
          groups = ask { cluster.groups }
          lag = ask { cluster.lag }
          own, others = groups.partition { |group| own?(group.name) }
          mine = group_rows(own, lag)
          {own: narrow(mine) { |row| [row[:name], row[:word], *row[:topics]] }, of: mine.size + others.size, q: wanted,
           unknown: narrow(unknown(own)) { |name| [name] }, missing:,
           others: narrow(others) { |group| [group.name] }.map { |group| group_row(group, nil) }, problems: problems(groups, lag)}
        end
      end

      # One consumer group: its partitions, what is furthest behind first, and its members.
      class Group < Page
        include GroupRows
        include Commanded

        private

        def crumbs = {"Groups" => ["groups"]}
        def title = name
        def name = names.fetch(:group)

        def data
          lag = ask { cluster.lag(name) }
          owners = owners(group)
          {group: {**group_row(group, lag), **reported(name, group.state)}, known: group.exist?, topics: topics, missing:,
           **(group.exist? ? partition_commands(name) : {commands: [], commands_note: nil}),
           routed: cluster.routes.select { |route| route.group == name }.map(&:to_s).uniq,
           protocol: group.protocol&.name, assignor: group.assignor, coordinator: group.coordinator&.to_s,
           partitions: lag.map { |row| partition(row, owners) }, members: group.members&.map { |member| member(member) },
           problems: problems(lag)}
        end

        # @return [Kafka::Admin::Groups::Group] of routes, or of reports, also one that the brokers do not know (yet), or do not answer
        #   for
        def group
          @group ||= cluster.group(name)
        rescue Kafka::UnknownGroupError
          raise unless own?(name)

          @group = without_members(:dead, [])
        rescue Kafka::UnreachableError
          raise unless reports.groups.key?(name)

          @group = without_members(:unknown, nil)
        end

        def without_members(state, members)
          Kafka::Admin::Groups::Group.new(name:, state:, protocol: nil, assignor: nil, coordinator: nil, members:)
        end

        # @return [Array<Hash>] of reports
        def topics
          reports.groups.fetch(name, []).map do |topic|
            series = reports.series(group: name, topic: topic.topic)
            {name: topic.topic, **summary([topic]), processes: topic.processes, series: known(series["age"]),
             dead: reports.dead[[name, topic.topic]]&.first.to_i}
          end.sort_by { |row| [rank(row[:kind]), -row[:oldest].to_f, row[:name]] }
        end

        def owners(group)
          group.members.to_a.each_with_object({}) do |member, owners|
            member.partitions.each { |topic, numbers| numbers.each { |number| owners[[topic, number]] = member(member) } }
          end
        end

        def partition(row, owners)
          {topic: row.topic, partition: row.partition, committed: row.committed, end: row.end_offset, messages: row.messages,
           oldest: row.seconds, rate_in: row.rate_in, rate_out: row.rate_out,
           caught_up_in: caught_up_in(row), beyond_end: row.beyond_end?, **owner(owners[[row.topic, row.partition]])}
        end

        # Commits come every few seconds: what is not older keeps up, and by its rates it would take for ever.
        # @return [Float, nil] seconds
        def caught_up_in(row)
          return if row.seconds && row.seconds < reports.limits.of(row.topic).old

          row.caught_up_in&.then { |seconds| seconds if seconds.finite? }
        end

        def owner(member) = {member: member&.fetch(:name), process: member&.fetch(:process), short: member&.fetch(:short)}

        # Reports have the brokers' name of each member: so its process can be told.
        def member(member)
          process = reports.member(name, member.id)&.name
          {id: member.id, name: member.to_s, partitions: member.partition_count, process:, short: process && reports.label(process)}
        end
      end
    end
  end
end
