# frozen_string_literal: true

require "guildhall/printable"
require "guildhall/text_table"
require_relative "../config"
require_relative "conflicts"
require_relative "group_builder"

module Guildhall
  module Kafka
    module Routing
      # The blocks of `Guildhall::Kafka.routes`, and the topics that they make. The blocks are kept, and evaluated when the application is
      # validated, so that settings may come after them.
      class Routes
        # Where a thread or fiber keeps the blocks that it evaluates; those that it starts meanwhile have the same.
        EVALUATED = :guildhall_routes_evaluated
        private_constant :EVALUATED

        def initialize(config)
          @config = config
          @blocks = []
          @latest_topics = nil
        end

        # @return [Boolean] whether there are blocks
        def any? = @blocks.any?

        def draw(&block)
          refuse_in_block("draws more routes")
          @blocks << block
          @latest_topics = nil
        end

        # Evaluates the blocks again: each time the application's code runs.
        def topics(problems = Config::Problems.new)
          refuse_in_block("asks for the routes, as validate!, lag and produce_later do")
          group = @config.group_id
          group = Printable.words(group.to_s, 249) if Settings::Rules::NAME.problem(group) # which is an error by itself
          builder = GroupBuilder.new(group, problems)
          before = problems.to_a
          @blocks.each { |block| evaluate(block, builder) }
          topics = builder.build
          problems.add(nothing_routed) if topics.empty? && problems.to_a == before && !@config.outbox
          unused = builder.multiplexed.keys - topics.select { |topic| topic.consumed? && !topic.assigned }.map(&:group)
          problems.add(*unused.map { |group| "group #{group}: multiplexing: no topic is consumed by this group" })
          problems.add(*Conflicts.new(topics).errors)
          @latest_topics = topics
        end

        # @return [Array<Topic>] as the blocks said when they were last evaluated. Any thread may ask, for each message: the blocks are
        #   evaluated only if they never were, or there are more since
        def latest_topics = @latest_topics || topics

        # @return [Delaying::DelayTopics, nil] those that messages of `produce_later` wait in; nil: the routes have none
        def delay_topics = latest_topics.filter_map(&:delay_topics).first
        def to_s = table(topics)

        def table(topics, decodings = {})
          rows = topics.map do |topic|
            consumer = topic.consumer&.to_s || (topic.serializer ? "(produced to)" : "(declared)")
            [(topic.group if topic.consumed?), topic.to_s, consumer, notes(topic, decodings[topic])]
          end
          TextTable.lines([["GROUP", "TOPIC", "CONSUMER", ""], *rows]).join("\n")
        end

        private

        # A block that asks for the routes would be evaluated again.
        def evaluate(block, builder)
          outer = Fiber[EVALUATED]
          Fiber[EVALUATED] = evaluated = [block, *outer]
          builder.apply(block)
        ensure
          Fiber[EVALUATED] = outer
          evaluated.clear # a thread that the block has started may live on
        end

        def refuse_in_block(what)
          block = @blocks.find { |one| Fiber[EVALUATED]&.include?(one) } or return

          place = block.source_location.to_a.first(2).join(":")
          raise ConfigurationError, "the block of routes at #{place} #{what}: the routes are known when their blocks have ended, so do " \
                                    "that outside of them"
        end

        def nothing_routed
          return 'no topic is routed: Guildhall::Kafka.routes { topic "name" do … end }' if @latest_topics.to_a.empty?

          "no topic is routed any more (before: #{@latest_topics.join(", ")}): the blocks of the routes are evaluated at each check, and " \
            "have to say the same each time"
        end

        def notes(topic, decoding)
          [*(topic.multiplexing if topic.consumed? && !topic.multiplexing.single?),
           *("decoded by: #{decoding}" if decoding && (topic.deserializer || topic.undecoded?)), *topic.notes,
           *("#{topic.scheduled_tasks.size} scheduled tasks" if topic.scheduled_tasks)].join(", ")
        end
      end
    end
  end
end
