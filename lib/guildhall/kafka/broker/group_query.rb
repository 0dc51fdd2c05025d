# frozen_string_literal: true

require_relative "session"

module Guildhall
  module Kafka
    module Broker
      # Something that could not be asked, and why. topic: its name or pattern, nil where nothing of the group could be asked; partitions:
      # numbers, nil: all of it.
      Problem = Data.define(:group, :topic, :partitions, :error) do
        # There is no such topic.
        def missing? = Errors.kind(error) == :missing && partitions.nil?

        # @return [String] one line: where, and why
        def to_s
          where = [*("group #{group}" if group), *topic].join(", ")
          place = [where, *numbers].reject(&:empty?).join(" ")
          place.empty? ? error.message : "#{place}: #{error.message}"
        end

        private

        def numbers = partitions && "partition#{"s" if partitions.size > 1} #{Printable.runs(partitions)}"
      end

      # An Array of the rows that could be found out, with the problems that kept others from it.
      class Answer < Array
        # @return [Array<Problem>] one per topic and reason; also topics that are not there
        attr_reader :problems

        def initialize(rows, problems)
          super(rows)
          @problems = Answer.grouped(problems)
        end

        # All that is there was answered.
        def complete? = @problems.all?(&:missing?)
        def self.merge(answers) = new(answers.flat_map(&:to_a), answers.flat_map(&:problems))

        # @return [Array<Problem>] partitions of one topic together that have the same error
        def self.grouped(problems)
          problems.group_by { |one| [one.group, one.topic, Errors.symbol(one.error), one.partitions.nil?] }.map do |_, same|
            same.one? || same.first.partitions.nil? ? same.first : same.first.with(partitions: same.flat_map(&:partitions))
          end
        end
      end

      # A question to the brokers about the offsets that one consumer group has committed, without joining it. A topic or a partition that
      # cannot be asked becomes a {Problem}; the others are answered.
      # @api private
      class GroupQuery
        # @return [Hash{Symbol=>Object}] of the session that {#answer_from} needs
        attr_reader :settings

        # @param settings [Hash{Symbol=>Object}] librdkafka's, as the group's members have them; group.id is the group
        # @param routes [Array<Routing::Topic>, nil] of the group; nil: of any application, all topics where it has committed something
        # @param settled [Boolean] see {Session#committed}
        def initialize(settings, routes = nil, settled: false)
          @settings = settings
          @routes = routes
          @settled = settled
          @group = settings[:"group.id"]
        end

        # Blocks for the brokers' answers.
        # @return [Answer] of the class's Rows, in the order of topics and partitions
        # @raise [UnreachableError] where no broker can be asked
        def answer = Session.open(@settings) { |session| answer_from(session) }

        # (see #answer)
        # @param session [Session] with these settings, or those of the group alone
        def answer_from(session)
          @problems = []
          topics = @routes ? topics(session) : session.topics.reject(&:error)
          committed = committed(session, topics)
          unless @routes
            names = committed.filter_map { |(topic, _), (offset, _)| topic if offset }.uniq
            topics = topics.select { |topic| names.include?(topic.name) }
            committed = committed.select { |(topic, _), _| names.include?(topic) }
          end
          Answer.new(rows(session, topics, committed), @problems)
        end

        private

        # @return [Array<Session::Topic>] those of the routes that can be asked; a pattern may match any number of topics
        def topics(session)
          patterns, named = @routes.partition(&:pattern?)
          names = named.map(&:name)
          names |= session.topic_names.select { |name| patterns.any? { |route| route.match?(name) } } if patterns.any?
          usable, others = session.describe(names.sort).partition { |topic| topic.error.nil? }
          others.each { |topic| report(topic.name, nil, topic.error) }
          usable
        end

        # @return [Hash{Array(String, Integer)=>Array(Integer | nil, String | nil)}] offset and metadata by topic and partition; both nil
        #   where nothing was committed
        def committed(session, topics)
          known(session.committed(topics.flat_map(&:places), settled: @settled))
        rescue AuthenticationError
          raise
        rescue KafkaError => error
          report(nil, nil, error)
          {}
        end

        # Without the partitions that could not be asked.
        def known(answers)
          answers.reject { |(topic, partition), answer| report(topic, partition, answer) if answer.is_a?(KafkaError) }
        end

        def report(topic, partition, error)
          @problems << Problem.new(group: @group, topic:, partitions: partition && [partition], error:)
        end
      end
    end
  end
end
