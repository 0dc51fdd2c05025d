# frozen_string_literal: true

require_relative "../dead_letter_queue/dead_letter"
require_relative "../producing/settings"
require_relative "group_query"
require_relative "letter_changes"
require_relative "letter_marks"

module Guildhall
  module Kafka
    module Broker
      # The dead letters of one topic, to look through or to replay. Joins no group, and disturbs none. Its methods raise a
      # {KafkaError}. Belongs to one thread; close it.
      class DeadLetters
        attr_reader :name

        # @return [String] the group without members that keeps the marks
        def self.group(config) = "#{config.group_id}.replay"

        def initialize(name, config)
          @name = name
          @config = config
          # A group without members keeps which were replayed and discarded: see {LetterMarks}.
          @settings = {**Producing::Settings.shared(config.librdkafka), "client.id": config.client_id}
          @sessions = {}
          @session = session(self.class.group(config))
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
        # @param settled [Boolean] whether to wait for the end of a change that is open, as who changes them has to: see {Session#committed}
        # @return [Hash{Integer=>LetterMarks}] which dead letters were replayed and discarded, by partition
        def marks(numbers, settled: false)
          committed(self.class.group(@config), numbers, settled).to_h do |(_, number), found|
            raise found if found.is_a?(KafkaError)

            [number, LetterMarks.new(*found, @begins.fetch(number, 0))]
          end
        end

        # What is kept of a long change of the dashboard's, in the group `GROUP_ID.replay.work`: see {LetterChanges#note}. Blocks for the
        # coordinator's answer.
        # @param settled [Boolean] see {#marks}
        # @return [String, nil]
        def noted(settled: false)
          found = committed(LetterChanges.note_group(@config), [0], settled).fetch([@name, 0])
          raise found if found.is_a?(KafkaError)

          found.last unless found.last.to_s.empty?
        end

        # Changes of marks, alone or with what is sent.
        # @return [LetterChanges] closed with this
        def changes = @changes ||= LetterChanges.new(self, @config)

        # Changes the marks of a partition. Blocks for the brokers.
        # @yieldparam marks [LetterMarks] to change, as they are now; perhaps again, where somebody else was faster
        # @raise [ReplayError] where they do not fit
        def keep(partition)
          changes.run do |changes|
            marks = changes.marks(partition)
            yield marks
            changes.keep(partition, marks)
          end
        end

        # Writes the marks again as they are: brokers forget what a group without members has committed, some days after that. Nothing
        # where there are none, or where they may not be read. Blocks for the brokers.
        # @raise [KafkaError, TransactionError]
        def renew
          kept = begin
            marks(ranges.keys).select { |_, marks| marks.known? }
          rescue KafkaError => error
            raise unless Errors.kind(error) == :right

            {}
          end
          kept.each_key { |partition| keep(partition) { nil } }
        end

        def close
          @changes&.close
          @sessions.each_value(&:close)
        end

        private

        def committed(group, numbers, settled) = session(group).committed(numbers.map { |number| [@name, number] }, settled:)

        def session(group)
          @sessions[group] ||= Session.new({**@settings, "group.id": group}, coordinator_timeout: Session::COORDINATOR_SECONDS)
        end
      end
    end
  end
end
