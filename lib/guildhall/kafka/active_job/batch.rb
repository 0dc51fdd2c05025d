# frozen_string_literal: true

require "guildhall/msgpack"
require_relative "tracked_job"

module Guildhall
  module Kafka
    module ActiveJob
      # Jobs that are enqueued together, and one that is enqueued when all of them are done. A row with their number: the transaction that
      # deletes a job's {TrackedJob} counts it, and the last one writes the last job to the outbox, and deletes this row. A job that is
      # performed again after a crash is not counted again. Done is what has been performed without an error, or was discarded by
      # `discard_on`; a dead letter is not, until it is replayed. Any thread of the main Ractor.
      #
      #     Guildhall::Kafka::ActiveJob::Batch.enqueue(users.map { MailJob.new(it) }, on_finish: ReportJob.new)
      #
      # `size`: of how many jobs; `pending`: how many of them are not done. A test whose adapter is Active Job's own has to set this one
      # (`queue_adapter_for_test`): the rows are written without a broker.
      class Batch < Outbox::Record
        self.table_name = "guildhall_job_batches"

        # @api private
        COLUMNS = %w[id size pending on_finish created_at].freeze
        CODEC = MessagePack.new(symbolize_names: true)
        private_constant :CODEC

        # Jobs are added to a batch that has finished.
        class FinishedError < ::RuntimeError
          include Error
        end

        # open: batches that have not finished; jobs: those of them that are not done; seconds: the age of the oldest batch
        Status = Data.define(:open, :jobs, :seconds)

        class << self
          # Writes batch and jobs to the database, in the transaction at hand or one of their own: all of them, or none. The relay of the
          # outbox sends them. As with `perform_all_later`, each job says `successfully_enqueued?` and `enqueue_error`, and enqueue
          # callbacks are not called. Does not wait for a broker.
          # @param jobs [Array<::ActiveJob::Base>] whose adapter is this one, whatever `produce:` they have; none: `on_finish` is enqueued
          #   at once
          # @param on_finish [::ActiveJob::Base] enqueued once, in the transaction that finishes the batch; performed at least once
          # @return [Batch] without a row where it has finished already
          # @raise [Guildhall::ArgumentError] for what is no such job, and for an `on_finish` with a time or with `unique_for`
          # @raise [Outbox::MissingTablesError] where the migration has not run
          # @raise [::ActiveRecord::ActiveRecordError] when the database refuses: nothing was written
          def enqueue(jobs, on_finish:)
            check([on_finish])
            check_last(on_finish)
            message = Kafka.producer.made([on_finish.queue_adapter.message_of(on_finish)]).first
            transaction(requires_new: true) do
              explaining { create!(size: 0, pending: 0, on_finish: MessagePack.encode(message)) }.add(jobs)
            end
          end

          # @return [Status]
          def status
            oldest = order(:id).pick(:created_at)
            Status.new(open: count, jobs: sum(:pending), seconds: oldest ? [Time.now - oldest, 0.0].max : 0.0)
          end

          # @return [Batch, nil] that of the job which this thread performs; nil: it belongs to none
          def current
            id = Consumer.current&.batch_id
            find_by(id:) if id
          end

          # In a transaction.
          # @return [Boolean] whether it has not finished
          # @api private
          def tally(id, change)
            growth = [change, 0].max
            changed = where(id:).update_all(["pending = pending + ?, size = size + ?", change, growth])
            return false if changed.zero?

            finish(id)
            true
          end

          # @api private
          def check(jobs)
            foreign = jobs.reject { |job| job.is_a?(::ActiveJob::Base) && job.queue_adapter.is_a?(QueueAdapter) }
            return if foreign.empty?

            raise Guildhall::ArgumentError, "a batch takes jobs whose queue_adapter is :guildhall, not #{foreign.first.class}"
          end

          private

          # Whoever sees 0 has the row to itself: others wait for this transaction to end since the update.
          def finish(id)
            batch = find_by(id:, pending: ..0) or return
            Outbox::Message.write([CODEC.decode(batch.on_finish)])
            where(id:).delete_all
            seconds = [Time.now - batch.created_at, 0.0].max
            current_transaction.after_commit { Kafka.application.publish("batch.finished", id:, size: batch.size, seconds:) }
          end

          def check_last(last)
            return unless last.scheduled_at || last.class.guildhall_options[:unique_for]

            raise Guildhall::ArgumentError, "on_finish is enqueued when the batch has finished, and takes no wait and no unique_for: " \
                                            "enqueue such a job in its perform"
          end
        end

        # More of them: by a job of the batch ({.current}), before it is done. If that job is repeated, it adds them again.
        # @param jobs [Array<::ActiveJob::Base>]
        # @return [self]
        # @raise [FinishedError] when all of its jobs are done: nothing was written
        # @raise as {.enqueue}
        def add(jobs)
          jobs = jobs.to_a
          self.class.check(jobs)
          QueueAdapter.new.store(jobs, batch_id: id) do |taken|
            raise FinishedError, "batch #{id} has finished: add jobs in a job that belongs to it" unless self.class.tally(id, taken)
          end
          begin
            reload
          rescue ::ActiveRecord::RecordNotFound # it has finished by now
            self
          end
        end

        # @return [ActiveRecord::Relation<TrackedJob>] its jobs that are not done
        def jobs = TrackedJob.where(batch_id: id)
      end
    end
  end
end
