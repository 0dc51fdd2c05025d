# frozen_string_literal: true

require "securerandom"
require_relative "../broker/topic_creation"
require_relative "state"
require_relative "task"

module Guildhall
  module Kafka
    module Scheduling
      # The tasks of an application's routes, for people: what has become of them, and what can be done with them by hand. Whether the
      # application runs does not matter. Any thread of the main Ractor.
      # @api private
      class Tasks
        def initialize(application) = @application = application

        # All tasks of the routes, and what became of them. Blocks for the brokers' answers.
        # @return [Array<Status>]
        # @raise [ConfigurationError] listing every error
        # @raise [KafkaError]
        def statuses
          schedules.flat_map do |topic|
            state = state(topic)
            topic.scheduled_tasks.map do |task|
              Status.new(task:, topic:, enabled: state.enabled?(task.name), run: state.run(task.name), asked: state.run(task.name, :asked))
            end
          end
        end

        # The process that has the schedule's partition runs the task no more, or again. Due times that pass meanwhile are not made up
        # for. Blocks until a broker has it.
        # @raise [Guildhall::ArgumentError] where there is no such task
        # @raise as `produce_sync`
        def switch(name, enabled)
          topic, = find(name)
          write(topic, State.switch_record(name, enabled))
        end

        # Lets a task run now, once: in the process that has the schedule's partition, or (`here`) in the calling thread, which blocks for
        # it. Its due times stay as they are; it may be disabled. If no process takes it within a minute, it does not run. Blocks until a
        # broker has it.
        # @param by [String, nil] who asks, for those who look; nil: this process
        # @param id [String] of the run: asking for the same one again changes nothing
        # @return [State::Run, nil] as it was asked for: {Status#asked} has what becomes of it; nil: it has run here
        # @raise [Guildhall::ArgumentError] where there is no such task
        # @raise as `produce_sync`; what the task raises, here
        def run(name, here: false, by: nil, id: SecureRandom.hex(8))
          topic, task = find(name)
          return task.call(Time.now.to_i) && nil if here

          before = state(topic).run(name, :asked)
          return before if before&.id == id

          # Later than the last one, whose clock may have been another.
          due = [Time.now.to_i, *before&.then { |run| run.due + 1 }].max
          run = State::Run.new(id:, due:, state: :asked, at: Time.now.to_f, by: by || @application.process_name)
          write(topic, State.run_record(name, run, :asked))
          run
        end

        private

        def write(topic, (key, payload))
          @application.open_log
          settings = @application.client_settings(topic)
          # A topic that a broker creates by itself is not compacted, and would forget this.
          created = Broker::TopicCreation.new(settings, Routing::DeclaredTopic.made([topic])) { |error, _| raise error }.run
          raise UnreachableError.at(settings, Broker::Librdkafka::TIMED_OUT, "it was asked for topics") unless created

          @application.producer.produce_sync(topic: topic.name, partition: 0, key:, payload:)
          nil
        end

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
