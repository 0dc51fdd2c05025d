# frozen_string_literal: true

require "securerandom"
require "socket"
require "guildhall/error_boundary"
require_relative "../consumer"
require_relative "../producing/delivery"
require_relative "state"

module Guildhall
  module Kafka
    module Scheduling
      # Runs the tasks of a schedule in the process that has its topic's partition. Before a run it writes a claim into the topic, and
      # runs the task when it reads that claim back: the first of several claims of one due time counts, for every process that reads
      # them. So a process that does not know yet that the partition has gone runs nothing twice.
      class TaskConsumer < Consumer
        CLAIM_SECONDS = 30 # after which a claim that was not read back is written again
        private_constant :CLAIM_SECONDS

        every(1) { claim_due if first? }

        def initialized
          @process = "#{Socket.gethostname}:#{Process.pid}"
          @claims = {} # task => run, as it was written and not read back
        end

        def consume
          return unless first?

          state
          messages.each do |message|
            name, run = state.read(message)
            next unless run && @claims[name]&.id == run.id

            @claims.delete(name)
            perform(name, run) if run.running?
          end
        end

        # Releases what was claimed and not begun, for the next process.
        def revoked
          @claims.each { |name, run| write(name, run.with(state: :released)) if run.running? }
          @claims.clear
        end
        alias shutdown revoked

        private

        # A topic that somebody has created with more partitions does no harm.
        def first? = partition.zero?

        def state
          @state ||= State.new.tap do |state|
            application.each_message(topic_name, partitions: 0) { |message| state.read(message) }
            @cut_off = state.running
          end
        end

        def now = Time.now.to_f

        def claim_due(now = self.now)
          @claims.select! { |name, run| run.after?(state.run(name)) } # another process may have been first
          @claims.each { |name, run| note(name, run.with(at: now)) if (now - run.at).abs > CLAIM_SECONDS }
          topic.scheduled_tasks.each { |task| consider(task, now) unless @claims.key?(task.name) }
        end

        # Writing the same run again does no harm: the first claim of a due time counts, and its process knows it by its id.
        def note(name, run)
          @claims[name] = run
          write(name, run)
        end

        def consider(task, now)
          since = state.since(task.name) or return note(task.name, new_run(now.floor, :added, now))
          return unless state.enabled?(task.name)

          last = state.run(task.name)
          if task.repeat? && @cut_off[task.name] == last
            note(task.name, new_run(last.due, :running, now, follows: last.id))
          elsif (due = task.due(since, now))
            note(task.name, new_run(due, task.skip?(due, now) ? :skipped : :running, now))
          end
        end

        def new_run(due, state, now, follows: nil) = State::Run.new(id: SecureRandom.hex(8), due:, state:, at: now, by: @process, follows:)

        def perform(name, run)
          task = topic.scheduled_tasks.find { |one| one.name == name } or return
          began = Clock.now
          error = nil
          ErrorBoundary.contain(->(raised) { error = raised }) { task.call(run.due) }
          seconds = Clock.now - began
          application.error(error, "schedule", group: topic.group, task: name) if error
          application.publish("schedule.ran", group: topic.group, task: name, due: Time.at(run.due), seconds:,
            error_class: error&.class&.name)
          write(name, run.with(state: error ? :failed : :done, at: Time.now.to_f, error: error && described(error)), wait: true)
        end

        def described(error) = "#{error.class}: #{ErrorBoundary.message(error)}"[0, 500]

        def write(name, run, wait: false)
          key, payload = State.run_record(name, run)
          message = {topic: topic_name, partition: 0, key:, payload:}
          wait ? producer.start(message).wait : producer.produce_many_async([message], run_middleware: false)
        rescue StandardError => error
          application.error(error, "schedule", group: topic.group, task: name)
        end

        def application = @call.application
      end
    end
  end
end
