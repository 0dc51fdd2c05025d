# frozen_string_literal: true

require_relative "../broker/topic_creation"
require_relative "../scheduling/state"
require_relative "../scheduling/task"

module Guildhall
  module Kafka
    class Application
      # Recurring tasks, whether the application runs or not.
      module ScheduleAccess
        # All tasks of the routes, and what became of them. Blocks for the brokers' answers.
        # @raise [ConfigurationError] listing every error
        # @raise [KafkaError]
        def scheduled_tasks
          validate!.select(&:scheduled_tasks).flat_map do |topic|
            state = schedule_state(topic)
            topic.scheduled_tasks.map do |task|
              Scheduling::Status.new(task:, topic:, enabled: state.enabled?(task.name), run: state.run(task.name))
            end
          end
        end

        # The process that has the schedule's partition runs the task no more, or again. Due times that pass meanwhile are not made up
        # for. Blocks until a broker has it.
        # @raise [Guildhall::ArgumentError] where there is no such task
        # @raise as `produce_sync`
        def switch_task(name, enabled)
          topic, = find_task(name)
          open_log
          settings = client_settings(topic)
          # A topic that a broker creates by itself is not compacted, and would forget this.
          created = Broker::TopicCreation.new(settings, [topic]) { |error, _| raise error }.run
          raise UnreachableError.at(settings, Connection::Librdkafka::TIMED_OUT, "it was asked for topics") unless created

          key, payload = Scheduling::State.switch_record(name, enabled)
          producer.produce_sync(topic: topic.name, partition: 0, key:, payload:)
          nil
        end

        # Runs a task in the calling thread, now; its due times stay as they are.
        # @raise [Guildhall::ArgumentError] where there is no such task
        # @raise what the task raises
        def run_task(name)
          _, task = find_task(name)
          task.call(Time.now.to_i)
          nil
        end

        private

        def schedule_state(topic)
          Scheduling::State.new.tap do |state|
            each_message(topic.name, partitions: 0) { |message| state.read(message) }
          rescue UnknownTopicError
            nil # no process has run yet
          end
        end

        def find_task(name)
          tasks = validate!.select(&:scheduled_tasks).flat_map { |topic| topic.scheduled_tasks.map { |task| [topic, task] } }
          tasks.find { |_, task| task.name == name } or
            raise Guildhall::ArgumentError, "there is no task #{name.inspect}#{Suggestion.for(name, tasks.map { |_, task| task.name })}"
        end
      end
    end
  end
end
