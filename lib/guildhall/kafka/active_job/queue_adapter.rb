# frozen_string_literal: true

require "active_job/queue_adapters/abstract_adapter"
require_relative "../partition/forwarding/load"
require_relative "../producing/delivery"
require_relative "../active_job"

module Guildhall
  module Kafka
    module ActiveJob
      # Active Job's contract of an adapter: produces jobs with the application's producer. Any thread.
      # @api private
      class QueueAdapter < ::ActiveJob::QueueAdapters::AbstractAdapter
        PRIORITY = "a job's priority is ignored: a topic is consumed in order; give urgent jobs a queue of their own"
        AT_ONCE = 1_000 # jobs of one statement
        private_constant :PRIORITY, :AT_ONCE

        # Called by Active Job. Blocks until the broker has the job, unless its class says `produce: :async` or `:outbox`.
        # @raise [::ActiveJob::EnqueueError] where it was not produced; `perform_later` returns false then
        # @raise [::ActiveRecord::ActiveRecordError] where the outbox does not take it
        def enqueue(job)
          return store_alone(job) if stored?(job)

          handle = produce(job)
          delivered(job, handle) if sync?(job)
        end

        # As {#enqueue}, but the job waits in a delay topic of the routes until its time has come.
        # @raise [DelayedJobError] where the routes have no delay topics
        # @raise what a job that is retried has raised, instead
        def enqueue_at(job, timestamp)
          return enqueue(job) if due?(job, timestamp)

          check_delays(job)
          stored?(job) ? store_alone(job) : delay(job, timestamp)
        end

        # Called by `ActiveJob.perform_all_later`: produced as one batch.
        # @return [Integer] how many were produced; the others have an `enqueue_error`
        # @raise [DelayedJobError] before any is produced
        # @raise what serializing a job, or its key, raises; before any is produced
        # @raise [::ActiveRecord::ActiveRecordError] where the outbox does not take those that are for it; before any is produced
        def enqueue_all(jobs)
          jobs.each { |job| check_delays(job) if waits?(job) }
          messages = jobs.to_h { |job| [job, message_of(job)] }.compare_by_identity
          stored, sent = jobs.partition { |job| stored?(job) }
          stored.each { |job| check_deferral(job) }
          store(stored, messages) if stored.any?
          later, now = sent.partition { |job| waits?(job) }
          handles = now.map { |job| noting(job) { produce(job, messages[job]) } }
          now.zip(handles) { |job, handle| noting(job) { delivered(job, handle) } if handle && sync?(job) }
          # A broker refuses all messages of a request for one of them.
          now.select { |job| too_large?(job) }.each { |job| noting(job) { delivered(job, produce(job, messages[job])) } }
          later.each { |job| noting(job) { delay(job, job.scheduled_at.to_f, messages[job]) } }
          jobs.count(&:successfully_enqueued?)
        end

        # @!visibility private
        # Writes jobs to the outbox, in the transaction at hand or one of their own, and their {TrackedJob}s. Each is told whether it was
        # taken, as with {#enqueue_all}. Where anything raises, no job is told anything, and nothing is written, even if the caller rescues
        # the error and commits.
        # @param messages [Hash{::ActiveJob::Base=>Hash}] of {#message_of}, where they are made already
        # @param batch_id [Integer, nil] of the {Batch} that they belong to
        # @yieldparam taken [Integer] how many were written; in the transaction
        def store(jobs, messages = {}.compare_by_identity, batch_id: nil)
          jobs.each { |job| check_delays(job) if waits?(job) }
          tracked = (batch_id ? jobs : jobs.select { |job| unique?(job) }).to_set
          jobs = jobs.uniq { |job| tracked.include?(job) ? job : Object.new } # else it would count twice, and be done once
          taken = Kafka::Outbox::Record.transaction(requires_new: tracked.any? || jobs.size > AT_ONCE) do
            taken = tracked.any? ? jobs - TrackedJob.track(tracked.to_a, batch_id) : jobs
            taken.each_slice(AT_ONCE) do |some|
              Kafka::Outbox::Message.write(some.map { |job| row_of(job, messages, (batch_id.to_s if tracked.include?(job))) })
            end
            yield taken.size if block_given?
            taken.to_set
          end
          jobs.each { |job| noting(job) { refuse(job) unless taken.include?(job) } }
        end

        # In a transaction of Active Record: a consumer would look for what has not been committed yet (Rails 7.2).
        def enqueue_after_transaction_commit? = true

        # Asked by jobs with steps: whether the job at hand had better end, because the process stops or its partition moves.
        def stopping?
          consumer = Consumer.current
          application = Kafka.application
          application.state == :stopping || application.quiet? || !consumer.nil? && (consumer.stopping? || consumer.revoked?)
        end

        # @!visibility private
        def message_of(job)
          if job.priority && !@warned # once: two threads that are the first may both say it
            @warned = true
            ::ActiveJob::Base.logger&.warn("guildhall: #{job.class}: #{PRIORITY}")
          end
          headers = at_hand?(job) ? Consumer.current.job_headers : ActiveJob.current_attributes_header.headers
          {topic: job.queue_name, payload: payload(job), key: key(job), headers:}
        end

        private

        # Bytes; but where the queue's route has a serializer, what that makes bytes of.
        def payload(job)
          data = job.serialize
          route = Kafka.routes.latest_topics.find { |one| one.match?(job.queue_name) }
          route&.serializer ? data : ::JSON.generate(data)
        end

        def unique?(job) = !job.class.guildhall_options[:unique_for].nil?

        # Whether it goes to the database. A job at hand is enqueued again where it came from, where it holds its key.
        def stored?(job) = job.class.guildhall_options[:produce] == :outbox && !at_hand?(job)

        def store_alone(job)
          check_deferral(job)
          store([job])
          raise job.enqueue_error if job.enqueue_error
        end

        # Rails would have it enqueued after the transaction that it is to be part of.
        def check_deferral(job)
          value = job.class.enqueue_after_transaction_commit
          return if value == Options::AT_ONCE

          raise Guildhall::ArgumentError, "#{job.class} has produce: :outbox, and enqueue_after_transaction_commit, which takes it out " \
                                          "of the transaction: remove that, or set it to #{Options::AT_ONCE.inspect}"
        end

        def refuse(job)
          raise DuplicateJobError, "another #{job.class} with the same key is enqueued, and not done"
        end

        # @param tracked [String, nil] the header's value; nil: it has no {TrackedJob}
        # @return [Hash{Symbol=>Object}] what the outbox takes
        def row_of(job, messages, tracked)
          message = messages.fetch(job) { message_of(job) }
          message = {**message, headers: {**message[:headers], TRACKED_HEADER => tracked}} if tracked
          producer = Kafka.producer
          (producer.waiting(message, job.scheduled_at) if waits?(job)) || producer.made([message]).first
        end

        def waits?(job) = !job.scheduled_at.nil? && !due?(job, job.scheduled_at.to_f)

        def produce(job, message = message_of(job))
          sending(job) { |producer| producer.produce_async(message) }.tap { note_again(job) }
        end

        def note_again(job) = (Consumer.current.enqueued_again if at_hand?(job))

        # Blocks until the broker has it.
        def delay(job, timestamp, message = message_of(job))
          topic = Kafka.routes.delay_topics.topic(timestamp - Time.now.to_f)
          sending(job, topic) { |producer| producer.produce_later(at: timestamp, **message) }
          note_again(job)
        end

        def delivered(job, handle)
          report = sending(job) { handle.wait }
          job.provider_job_id = "#{report.topic}/#{report.partition}@#{report.offset}"
        end

        def sending(job, topic = job.queue_name)
          yield(Kafka.producer)
        rescue ProduceError, TimeoutError => error
          raise reason(error, topic) if at_hand?(job) # else Active Job would take it for retried, and its message would be marked

          raise ::ActiveJob::EnqueueError, error.message
        end

        # A TimeoutError for an outage: as long as that lasts, the topic repeats the job, and counts no attempts. A topic that is missing or
        # may not be written to says as little about the job.
        def reason(error, topic)
          return error if error.is_a?(TimeoutError)
          return error unless Kafka::Broker::Errors.unusable?(error.code) || Kafka::Broker::Errors.outage?(error.code)

          TimeoutError.new("the job could not be sent to topic #{topic}, and is repeated until that works: #{error.reason}")
        end

        # Whether it is the job that this thread performs, which is enqueued again.
        def at_hand?(job)
          consumer = Consumer.current
          !consumer.nil? && consumer.job_id == job.job_id
        end

        def too_large?(job)
          cause = job.enqueue_error&.cause
          cause.is_a?(ProduceError) && cause.code == :msg_size_too_large
        end

        # One that fails does not keep the others from being produced.
        def noting(job)
          result = yield
          job.enqueue_error = nil
          job.successfully_enqueued = true
          result
        rescue ::ActiveJob::EnqueueError => error
          job.enqueue_error = error
          job.successfully_enqueued = false
          nil
        end

        # Whether to wait for the broker: the message of a job at hand is marked next.
        def sync?(job) = job.class.guildhall_options[:produce] == :sync || at_hand?(job)

        def key(job)
          key = job.class.guildhall_options[:key]
          answer = key.is_a?(Symbol) ? job.public_send(key) : key&.call(job)
          return answer&.to_s unless answer.method(:to_s).owner == ::Kernel

          # Kernel's to_s differs from object to object, although they stand for the same record.
          raise Guildhall::ArgumentError, "guildhall_options of #{job.class}: the key must be a String, or have a to_s of its own " \
                                          "(an id, say), not a #{answer.class}"
        end

        # A job with steps that was interrupted because this process stops waits for its next start anyway.
        def due?(job, timestamp)
          timestamp <= Time.now.to_f || (at_hand?(job) && interrupted? && stopping?)
        end

        # Active Job enqueues such a job while it rescues the interruption (Rails 8.1).
        def interrupted? = $!.class.name == "ActiveJob::Continuation::Interrupt"

        # If a job that has failed is to be retried later, its own error is raised, and the missing delay topics are reported.
        def check_delays(job)
          return if Kafka.routes.delay_topics

          error = DelayedJobError.new("#{job.class} is to be performed later (set(wait:), retry_on wait:), and the routes have no delay " \
                                      "topics: add `delay_topics` to them, or use `wait: 0`, or another adapter for this job")
          failed = $! if at_hand?(job)
          raise error unless failed && !interrupted?

          Kafka.application.error(error, "active_job", topic: job.queue_name)
          raise failed
        end
      end
    end
  end
end

ActiveJob::QueueAdapters::GuildhallAdapter = Guildhall::Kafka::ActiveJob::QueueAdapter
