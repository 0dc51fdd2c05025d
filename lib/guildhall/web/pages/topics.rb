# frozen_string_literal: true

require_relative "failure"
require_relative "narrowed"

module Guildhall
  class Web
    module Pages
      # All topics.
      class Topics < Page
        include Narrowed

        private

        def title = "Topics"

        def data
          readers = cluster.routes.reject(&:pattern?).group_by(&:name).transform_values { |routes| routes.map(&:group).uniq }
          found = narrow(cluster.topics) { |topic| [topic.name, *readers[topic.name]] }
          {of: cluster.topics.size, q: wanted, topics: found.map do |topic|
            {name: topic.name, partitions: topic.partitions.size, replicas: topic.replicas, under_replicated: topic.under_replicated,
             without_leader: topic.without_leader, groups: readers.fetch(topic.name, [])}
          end}
        end
      end

      # One topic: its partitions, what is set for it, and who consumes it.
      class Topic < Page
        private

        def crumbs = {"Topics" => ["topics"]}
        def title = names.fetch(:topic)

        def data
          topic = cluster.topic(names.fetch(:topic))
          {name: topic.name, messages: topic.messages, replicas: topic.replicas, groups: cluster.routes_of(topic.name).map(&:group).uniq,
           partitions: topic.partitions.map { |partition| partition(partition) },
           settings: topic.settings.values.select { |one| one.source == :topic }.map { |one| {name: one.name, value: one.value} },
           retention: topic.settings["retention.ms"]&.value, cleanup: topic.settings["cleanup.policy"]&.value}
        end

        def partition(partition)
          {number: partition.number, leader: partition.leader, replicas: partition.replicas, in_sync: partition.in_sync,
           begin: partition.begin_offset, end: partition.end_offset, error: partition.error && Printable.valid(partition.error.message)}
        end
      end
    end
  end
end
