# frozen_string_literal: true

require_relative "../dead_letter_queue/dead_letter"
require_relative "../producing/settings"
require_relative "group_query"
require_relative "letter_marks"

module Guildhall
  module Kafka
    module Broker
      # The dead letters of one topic, to look through or to replay. Joins no group, and disturbs none. Its methods raise a
      # {KafkaError}. Belongs to one thread; close it.
      class DeadLetters
        attr_reader :name

        def initialize(name, config)
          @name = name
          # A group without members keeps which were replayed and discarded: see {LetterMarks}.
          own = {"client.id": config.client_id, "group.id": "#{config.group_id}.replay"}
          @session = Session.new({**Producing::Settings.shared(config.librdkafka), **own})
          @topic = @session.topic(name)
          @begins = {}
          @problems = []
        rescue StandardError
          close
          raise
        end

        # @return [Array<Problem>] the partitions that {#ranges} could not ask
        def problems = Answer.grouped(@problems)

        # Blocks for the brokers' answers.
        # @param numbers [Array<Integer>] of partitions; none: all
        # @return [Hash{Integer=>Range<Integer>}] the offsets that there are now, by partition; without the partitions that cannot be
        #   asked: see {#problems}
        def ranges(*numbers)
          @problems = []
          topic = numbers.any? ? @topic.with(leaders: @topic.leaders.slice(*numbers)) : @topic
          found = @session.ranges([topic]).reject { |(_, number), range| report(number, range) if range.is_a?(KafkaError) }
          found.transform_keys(&:last).sort.to_h.tap { |ranges| @begins.update(ranges.transform_values(&:begin)) }
        end

        # A partition, or (nil) all of the topic, could not be asked.
        def report(number, error) = @problems << Problem.new(group: nil, topic: @name, partitions: number && [number], error:)

        def partition_count = @topic.leaders.size

        # Blocks for a broker's answer.
        # @return [Integer] how many partitions another topic has
        def partition_count_of(topic) = @session.topic(topic).leaders.size

        # Blocks for the broker.
        # @param range [Range<Integer>] of offsets, without its end
        # @yieldparam dead_letter [DeadLetterQueue::DeadLetter] in the order of their offsets
        def each(partition, range)
          @session.each_record(@name, partition, range) { |record| yield DeadLetterQueue::DeadLetter.from(record) }
        end

        # Blocks for the coordinator's answer.
        # @param numbers [Array<Integer>] of partitions
        # @return [Hash{Integer=>LetterMarks}] which dead letters were replayed and discarded, by partition
        def marks(numbers)
          @session.committed(numbers.map { |number| [@name, number] }).to_h do |(_, number), found|
            raise found if found.is_a?(KafkaError)

            [number, LetterMarks.new(*found, @begins.fetch(number, 0))]
          end
        end

        # Changes marks as they are at the broker now, so that what another has marked meanwhile stays. Blocks for the coordinator.
        # @yieldparam marks [LetterMarks] to change
        # @return [LetterMarks] as they are kept
        # @raise [ReplayError] where they do not fit
        def keep(partition)
          marks([partition]).fetch(partition).tap do |marks|
            yield marks
            @session.commit(@name, partition, *marks.dump)
          end
        end

        # Marks those as discarded that are not marked yet: they are not replayed unless they are named. They stay where they are. Blocks
        # for the brokers.
        # @param range [Range<Integer>]
        # @yieldparam dead_letter [DeadLetterQueue::DeadLetter] whether to discard it
        # @return [Integer] how many
        def discard(partition, range)
          # Their offsets alone: all the payloads of a topic may be more than fits into memory.
          letters = LetterMarks.spans(to_enum(:each, partition, range).lazy, range.begin)
          found = letters.filter_map { |letter, span| [letter.offset, span] if yield(letter) }.to_a
          return 0 if found.empty?

          keep(partition) do |marks|
            found.select! { |offset, _| marks.of(offset).nil? }
            found.each { |_, span| marks.discarded(span) }
          end
          found.size
        end

        def close = @session&.close
      end
    end
  end
end
