# frozen_string_literal: true

require_relative "group_routes"

module Guildhall
  module Kafka
    module Routing
      # Finds what several routes cannot have together.
      # @api private
      class Conflicts
        # A topic that the framework names itself. maker: what the framework uses it for; route: the topic's own, nil: it has none; source:
        # the route whose messages go there.
        Made = Data.define(:name, :maker, :route, :source)
        private_constant :Made

        def initialize(topics)
          @topics = topics
        end

        def errors = duplicates + declared_differently + shared_prefixes + name_clashes + tasks_of_one_name + cycle_errors

        # Routes whose dead letters come back to them, directly or by way of other routes: a message that always fails would circulate for
        # ever. The routes of other groups count as well, for a dead letter topic is read by every group that consumes it.
        # @return [Array<Array(Topic, Array<String>)>] the first route of each cycle, and the dead letter topics on the way
        def dead_letter_cycles
          consumed = @topics.select(&:consumed?)
          groups = consumed.group_by(&:group).each_value.map { |of_group| GroupRoutes.new(of_group) }
          reported = []
          consumed.filter_map do |topic|
            next if reported.include?(topic) || (cycle = cycle_from([topic], groups)).nil?

            reported.concat(cycle)
            [topic, cycle.map(&:dead_letter_topic)]
          end
        end

        private

        def duplicates
          @topics.group_by { |topic| [topic.group, topic.name] }.filter_map do |(group, name), same|
            "topic #{name.inspect} is routed #{same.size} times in group #{group}" if same.size > 1
          end
        end

        # Groups may share a topic, and it can only be as one of them says.
        def declared_differently
          @topics.select(&:config).reject(&:retry_topic?).group_by(&:name).filter_map do |name, same|
            next if same.map(&:config).uniq.one?

            groups = same.map { |topic| "group #{topic.group} (#{topic.config})" }
            "topic #{name.inspect}: its config differs between #{groups.join(" and ")}: keep it in one of their routes"
          end
        end

        # Each topic in which messages wait must belong to one group.
        def shared_prefixes
          groups = @topics.group_by(&:waiting_prefix).except(nil).transform_values { |same| same.map(&:group).uniq }
          groups.reject { |_, names| names.one? }.map do |prefix, names|
            "groups #{names.join(" and ")} have the same prefix #{prefix.inspect}: each would take what the other's messages " \
              "wait for; give each its own"
          end
        end

        def tasks_of_one_name
          tasks = @topics.flat_map { |topic| topic.scheduled_tasks.to_a.map(&:name) }.tally
          tasks.filter_map { |name, count| "schedule: there are #{count} tasks #{name.inspect}" if count > 1 }
        end

        def cycle_errors
          dead_letter_cycles.map do |topic, names|
            "topic #{topic.name.inspect}: its dead letters come back to it (#{[topic, *names].join(" → ")}): give one of these " \
              "routes another dead_letter_queue topic, or none"
          end
        end

        # @return [Array<Topic>, nil] the routes from the first one back to it
        def cycle_from(way, groups)
          name = way.last.dead_letter_topic
          consumers = name ? groups.filter_map { |group| group.route(name) } : []
          consumers.each do |topic|
            return way if topic.equal?(way.first)

            cycle = cycle_from([*way, topic], groups) unless way.include?(topic)
            return cycle if cycle
          end
          nil
        end

        # Topics that the framework names (retry topics, delay topics, schedules, dead letters of a queue), and that something else uses
        # too: each would take the other's messages. An application's consumer may read dead letters, though.
        def name_clashes
          made = @topics.flat_map { |topic| made_for(topic) }.uniq { |one| [one.name, one.maker] }
          made.group_by(&:name).filter_map do |name, of_name|
            # {#shared_prefixes} reports one prefix of two groups.
            makers = of_name.uniq { |one| (one.route || one.source).waiting_prefix || one.maker }
            uses = [*makers.map(&:maker), *of_name.flat_map { |one| other_uses(one) }].uniq
            "topic #{name.inspect} would be #{uses.join(" and ")}: give one of them another name" if uses.size > 1
          end
        end

        def made_for(topic)
          delays = topic.delay_topics
          queue = topic.dead_letter_queue
          maker = maker_of(topic)
          [(Made.new(topic.name, maker, topic, nil) if maker),
           (Made.new(delays.dead_letters, "for dead letters of the delay topics of group #{topic.group}", nil, topic) if delays),
           (Made.new(queue.topic, "for dead letters of #{topic}", nil, topic) if queue&.own)].compact
        end

        def maker_of(topic)
          if topic.delay_topics then "a delay topic of group #{topic.group}"
          elsif topic.scheduled_tasks then "the schedule of group #{topic.group}"
          elsif topic.waiting_prefix then "a retry topic of #{topic.retry_topics.source} in group #{topic.group}"
          end
        end

        def other_uses(made)
          routes = @topics.select { |topic| topic.name == made.name && !topic.equal?(made.route) && clash?(made, topic) }
          uses = routes.map { |topic| "a topic of group #{topic.group}" }
          return uses unless made.route

          sources = @topics.select { |topic| topic.dead_letter_topic == made.name && !topic.dead_letter_queue.own }
          uses + sources.map { |topic| "for dead letters of #{topic}" }
        end

        # A consumer that makes dead letters may not consume them as well. {#duplicates} reports two routes of one group.
        def clash?(made, topic)
          return topic.consumer == made.source.consumer if made.source

          topic.group != made.route.group && made_for(topic).none? { |other| other.name == made.name }
        end
      end
    end
  end
end
