# frozen_string_literal: true

require_relative "topic_config"

module Guildhall
  module Kafka
    module Routing
      # A topic that the brokers should have, as the routes say: one with `config`, or one that the framework sends messages on to.
      # otherwise: what a missing one is created with beside that, and what is not compared; source: the topic that its messages come from,
      # of which it then gets the number of partitions, nil: none; made: the application creates it where it is missing.
      DeclaredTopic = Data.define(:name, :config, :otherwise, :source, :made) do
        # Their own routes win over what follows from those of others.
        # @param topics [Array<Topic>]
        # @return [Array<DeclaredTopic>] each name once
        def self.all(topics)
          found = topics.flat_map { |topic| topic.pattern? ? dead_letters(topic) : of(topic) }
          found.group_by(&:name).map do |_, same|
            best = same.find { |one| !one.config.inherited } || same.first
            best.with(made: same.any?(&:made))
          end
        end

        # @param routed [Boolean] whether it creates all that have a route
        # @return [Array<DeclaredTopic>] those that the application creates where they are missing
        def self.made(topics, routed: false)
          return all(topics).select(&:made) unless routed

          others = topics.reject(&:pattern?).map { |topic| new(name: topic.name, config: TopicConfig.new(inherited: true)) }
          [*all(topics), *others].uniq(&:name).map { |one| one.with(made: true) }
        end

        # @return [Array<DeclaredTopic>]
        def self.of(topic)
          config = topic.config || TopicConfig.new(inherited: true)
          own = if topic.scheduled_tasks then of_tasks(topic.name, config)
                elsif topic.delay_topics || topic.retry_topic?
                  new(name: topic.name, config:, source: topic.retry_topics&.source, made: true)
                elsif topic.config then new(name: topic.name, config:)
                end
          [*own, *dead_letters(topic)]
        end

        # A schedule has one partition, and is compacted: only segments that are closed are, and a process that takes over reads all that
        # is there.
        def self.of_tasks(name, config)
          otherwise = TopicConfig.new(partitions: 1, settings: {"segment.ms" => 3_600_000, "min.cleanable.dirty.ratio" => 0.1})
          settings = {**config.settings, "cleanup.policy" => "compact"}.freeze
          new(name:, config: config.with(partitions: nil, settings:), otherwise:, made: true)
        end

        def self.dead_letters(topic)
          queue = topic.dead_letter_queue
          return [] unless queue&.topic

          made = queue.own || !topic.delay_topics.nil?
          source = topic.name unless topic.delay_topics || topic.pattern?
          [new(name: queue.topic, config: (topic.config || TopicConfig.new).for_copies, source:, made:)]
        end
        private_class_method :of_tasks, :dead_letters

        def initialize(otherwise: TopicConfig.new, source: nil, made: false, **) = super

        # @param present [Hash{String=>Integer}] how many partitions topics have
        # @return [TopicConfig] what it is created with; nil in it: the brokers' default
        def creation(present)
          config.with(partitions: config.partitions || otherwise.partitions || present[source]&.nonzero?,
            settings: {**otherwise.settings, **config.settings}.freeze)
        end
      end
    end
  end
end
