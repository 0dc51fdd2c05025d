# frozen_string_literal: true

module Guildhall
  module Kafka
    module Routing
      # Topics that the framework names itself (retry topics, delay topics, schedules, dead letters of a queue), and whose name something
      # else has, too: each would take the other's messages. A consumer of one's own may read dead letters.
      class NameClashes
        # maker: what the topic is to the framework; route: of that topic, nil: none; source: the route whose messages go there.
        Made = Data.define(:name, :maker, :route, :source)
        private_constant :Made

        def initialize(topics)
          @topics = topics
          @made = topics.flat_map { |topic| made(topic) }.uniq { |one| [one.name, one.maker] }
        end

        # @yieldparam name [String] of a topic
        # @yieldparam uses [Array<String>] what it would be, two or more
        def each
          @made.group_by(&:name).each do |name, made|
            # One prefix of two groups is reported as such.
            makers = made.uniq { |one| (one.route || one.source).waiting_prefix || one.maker }
            uses = [*makers.map(&:maker), *made.flat_map { |one| others(one) }].uniq
            yield name, uses if uses.size > 1
          end
        end

        private

        def made(topic)
          [waiting(topic), *delay_dead_letters(topic), *own_dead_letters(topic)].compact
        end

        def waiting(topic)
          maker =
            if topic.delay_tiers then "a delay topic of group #{topic.group}"
            elsif topic.scheduled_tasks then "the schedule of group #{topic.group}"
            elsif topic.waiting_prefix then "a retry topic of #{topic.retry_topics.source} in group #{topic.group}"
            end
          Made.new(name: topic.name, maker:, route: topic, source: nil) if maker
        end

        def delay_dead_letters(topic)
          return unless topic.delay_tiers

          Made.new(name: topic.delay_tiers.dead_letters, maker: "for dead letters of the delay topics of group #{topic.group}", route: nil,
            source: topic)
        end

        def own_dead_letters(topic)
          return unless topic.dead_letter_queue&.own

          Made.new(name: topic.dead_letter_queue.topic, maker: "for dead letters of #{topic}", route: nil, source: topic)
        end

        def others(made)
          routes = @topics.select { |topic| topic.name == made.name && !topic.equal?(made.route) && clash?(made, topic) }
          [*routes.map { |topic| "a topic of group #{topic.group}" }, *(dead_letters_for(made) if made.route)]
        end

        # What makes dead letters may not consume them as well. Two routes of one group are reported as such.
        def clash?(made, topic)
          return topic.consumer == made.source.consumer if made.source

          topic.group != made.route.group && made(topic).none? { |other| other.name == made.name }
        end

        def dead_letters_for(made)
          sources = @topics.select { |topic| topic.dead_letter_queue&.topic == made.name && !topic.dead_letter_queue.own }
          sources.map { |topic| "for dead letters of #{topic}" }
        end
      end
    end
  end
end
