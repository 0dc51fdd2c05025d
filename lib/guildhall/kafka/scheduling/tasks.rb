# frozen_string_literal: true

require_relative "../broker/topic_creation"
require_relative "state"
require_relative "task"

module Guildhall
  module Kafka
    module Scheduling
      # The tasks of an application's routes, for people: what has become of them, and what can be done with them by hand. Whether the
      # application runs does not matter. Any thread of the main Ractor.
      class Tasks
        def initialize(application) = @application = application

        # All tasks of the routes, and what became of them. Blocks for the brokers' answers.
        # @return [Array<Status>]
        # @raise [ConfigurationError] listing every error
        # @raise [KafkaError]
        def statuses
          schedules.flat_map do |topic|
            state = state(topic)
            topic.scheduled_tasks.map { |task| Status.new(task:, topic:, enabled: state.enabled?(task.name), run: state.run(task.name)) }
          end
        end

        # The process that has the schedule's partition runs the task no more, or again. Due times that pass meanwhile are not made up
        # for. Blocks until a broker has it.
        # @raise [Guildhall::ArgumentError] where there is no such task
        # @raise as `produce_sync`
        def switch(name, enabled)
          topic, = find(name)
          @application.open_log
          settings = @application.client_settings(topic)
          # A topic that a broker creates by itself is not compacted, and would forget this.
          created = Broker::TopicCreation.new(settings, [topic]) { |error, _| raise error }.run
          raise UnreachableError.at(settings, Broker::Librdkafka::TIMED_OUT, "it was asked for topics") unless created

          key, payload = State.switch_record(name, enabled)
          @application.producer.produce_sync(topic: topic.name, partition: 0, key:, payload:)
          nil
        end

        # Runs a task in the calling thread, now; its due times stay as they are.
        # @raise [Guildhall::ArgumentError] where there is no such task
        # @raise what the task raises
        def run(name)
          _, task = find(name)
          task.call(Time.now.to_i)
          nil
        end

        private

        def schedules = @application.validate!.select(&:scheduled_tasks)

        def state(topic)
          State.new.tap do |state|
            @application.each_message(topic.name, partitions: 0) { |message| state.read(message) }
          rescue UnknownTopicError
            nil # no process has run yet
          end
        end

        def find(name)
          tasks = schedules.flat_map { |topic| topic.scheduled_tasks.map { |task| [topic, task] } }
          tasks.find { |_, task| task.name == name } or
            raise Guildhall::ArgumentError, "there is no task #{name.inspect}#{Suggestion.for(name, tasks.map { |_, task| task.name })}"
        end
      end
    end
  end
end
