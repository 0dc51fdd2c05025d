# frozen_string_literal: true

require "securerandom"
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
      # @api private
      class TaskConsumer < Consumer
        CLAIM_SECONDS = 30 # after which a claim that was not read back is written again
        private_constant :CLAIM_SECONDS

        every(1) { claim_due if first? }

        def initialized
          @claims = {} # kind and task => run, as it was written and not read back
        end

        def consume
          return unless first?

          state
          messages.each do |message|
            kind, name, run = known { state.read(message) }
            key = [kind, name]
            next unless run && @claims[key]&.id == run.id

            @claims.delete(key)
            perform(key, run) if run.running?
          end
          claim_asked
        end

        # Releases what was claimed and not begun, for the next process.
        def revoked
          @claims.each { |key, run| write(key, run.with(state: :released)) if run.running? }
          @claims.clear
        end
        alias shutdown revoked

        private

        # A topic that somebody has created with more partitions does no harm.
        def first? = partition.zero?

        def state
          raise @newer if @newer

          @state ||= State.new.tap do |state|
            known { application.each_message(topic_name, partitions: 0) { |message| state.read(message) } }
            @cut_off = state.running
          end
        end

        # What is not known is there for good: the next attempt, and the timer, must not go on without it.
        def known
          yield
        rescue NewerFormatError => error
          @newer = error
          raise
        end

        def now = Time.now.to_f

        def claim_due(now = self.now)
          @claims.select! { |(kind, name), run| run.after?(state.run(name, kind)) } # another process may have been first
          @claims.each { |key, run| note(key, run.with(at: now)) if (now - run.at).abs > CLAIM_SECONDS }
          topic.scheduled_tasks.each { |task| consider(task, now) unless @claims.key?([:due, task.name]) }
          claim_asked(now)
        end

        # Writing the same run again does no harm: the first claim of a due time counts, and its process knows it by its id.
        def note(key, run)
          @claims[key] = run
          write(key, run)
        end

        def consider(task, now)
          key = [:due, task.name]
          since = state.since(task.name) or return note(key, new_run(now.floor, :added, now))
          return unless state.enabled?(task.name)

          if (last = cut_off(task, key))
            note(key, new_run(last.due, :running, now, follows: last.id))
          elsif (due = task.due(since, now))
            note(key, new_run(due, task.skip?(due, now) ? :skipped : :running, now))
          end
        end

        # What somebody wants to run now, runs now or never.
        def claim_asked(now = self.now)
          topic.scheduled_tasks.each do |task|
            key = [:asked, task.name]
            run = state.run(task.name, :asked)
            next if run.nil? || @claims.key?(key)

            late = now - run.due > Task::GRACE_SECONDS
            if cut_off(task, key) then note(key, new_run(run.due, :running, now, follows: run.id))
            elsif !run.over? then note(key, new_run(run.due, late ? :skipped : :running, now))
            end
          end
        end

        # @return [State::Run, nil] that ended with its process, and is to be repeated
        def cut_off(task, key)
          last = state.run(task.name, key.first)
          last if last && task.repeat? && @cut_off[key] == last
        end

        def new_run(due, state, now, follows: nil)
          State::Run.new(id: SecureRandom.hex(8), due:, state:, at: now, by: application.process_name, follows:)
        end

        def perform((kind, name), run)
          task = topic.scheduled_tasks.find { |one| one.name == name } or return
          began = Clock.now
          error = nil
          ErrorBoundary.contain(->(raised) { error = raised }) { task.call(run.due) }
          seconds = Clock.now - began
          application.error(error, "schedule", group: topic.group, task: name) if error
          application.publish("schedule.ran", group: topic.group, task: name, due: Time.at(run.due), seconds:,
            error_class: error&.class&.name)
          write([kind, name], run.with(state: error ? :failed : :done, at: Time.now.to_f, error: error && described(error)), wait: true)
        end

        def described(error) = "#{error.class}: #{ErrorBoundary.message(error)}"[0, 500]

        def write((kind, name), run, wait: false)
          key, payload = State.run_record(name, run, kind)
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
