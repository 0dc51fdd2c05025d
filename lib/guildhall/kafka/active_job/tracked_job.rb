# frozen_string_literal: true

require "digest"
require "json"
require_relative "../active_job"
require_relative "../outbox"

module Guildhall
  module Kafka
    module ActiveJob
      # A row for each job that is unique (`unique_for` of `guildhall_options`) or belongs to a {Batch}: from the transaction that
      # enqueues it until the one that says that it is done. Of a job that is a dead letter the row stays, until the job is replayed.
      class TrackedJob < Outbox::Record
        self.table_name = "guildhall_tracked_jobs"

        # @api private
        COLUMNS = %w[id job_id job_class batch_id unique_key expires_at created_at].freeze
        KEYS = %w[_aj_symbol_keys _aj_ruby2_keywords].freeze
        AT_ONCE = 1_000 # rows of one statement
        private_constant :KEYS, :AT_ONCE

        # Those of dead letters, and of jobs that take very long; nothing waits for them any more, unless they belong to a batch.
        scope :expired, -> { where(batch_id: nil, expires_at: ..Time.now) }

        class << self
          # Writes the rows of these jobs, in the transaction at hand. Waits for another transaction that enqueues a job with the same key;
          # MySQL, which locks more than that row, may raise Deadlocked in one of them.
          # @param jobs [Array<::ActiveJob::Base>]
          # @param batch_id [Integer, nil] nil: they belong to none
          # @return [Array<::ActiveJob::Base>] those that are not to be enqueued: another one with their key is not done
          # @raise [Outbox::MissingTablesError]
          # @api private
          def track(jobs, batch_id = nil)
            rows = jobs.to_h { |job| [job, row_of(job, batch_id)] }.compare_by_identity
            refused = explaining { insert_rows(rows) }
            # In this order: who looks for a row that is not there before inserting it locks the gap on MySQL, and two who do so deadlock.
            return refused unless refused.any? && expire(refused.map { |job| rows[job][:unique_key] })

            insert_rows(rows.slice(*refused))
          end

          # Whether a job of a batch is done, and its message has come again, as after a crash. It could add nothing to a batch that has
          # finished meanwhile. A dead letter has its row, until it is replayed.
          # @api private
          def counted?(job_id, batch_id) = !batch_id.nil? && !exists?(job_id:)

          # The job is done: counts in its batch once.
          # @api private
          def finish(job_id, batch_id)
            transaction { where(job_id:).delete_all == 1 && batch_id && Batch.tally(batch_id, -1) }
          end

          private

          def row_of(job, batch_id)
            lasts = job.class.guildhall_options[:unique_for]
            begins = job.scheduled_at || Time.now
            {job_id: job.job_id, job_class: job.class.name, batch_id:, unique_key: (unique_key(job) if lasts),
             expires_at: (begins + lasts if lasts), created_at: Time.now}
          end

          # As short as any index wants it.
          def unique_key(job)
            by = job.class.guildhall_options[:unique_by]
            parts = by ? [by.is_a?(Symbol) ? job.public_send(by) : by.call(job)] : job.arguments
            Digest::SHA256.hexdigest(::JSON.generate([job.class.name, ordered(::ActiveJob::Arguments.serialize(parts))]))
          end

          # Equal Hashes, and keywords in another order, are equal arguments. Active Job keeps lists of their keys.
          def ordered(serialized)
            case serialized
            when Hash then serialized.sort.to_h { |name, value| [name, KEYS.include?(name) ? value.sort : ordered(value)] }
            when Array then serialized.map { |one| ordered(one) }
            else serialized
            end
          end

          # In the order of their keys: two transactions with the same ones in another order would deadlock. A job that has a row already
          # is not done, and not enqueued a second time: it would be counted once in its batch.
          # @return [Array<::ActiveJob::Base>] those whose rows could not be inserted
          def insert_rows(rows)
            known = known_of(rows)
            new = rows.select { |_, row| known.add?(row[:job_id]) }
            sorted = new.values.sort_by.with_index { |row, index| [row[:unique_key].to_s, index] }
            sorted.each_slice(AT_ONCE) { |some| insert_all(some, record_timestamps: false) }
            there = known_of(new)
            rows.reject { |job, row| new.key?(job) && there.include?(row[:job_id]) }.keys
          end

          # @return [Set<String>] the ids of those jobs that have a row
          def known_of(rows)
            ids = rows.each_value.map { |row| row[:job_id] }
            ids.each_slice(AT_ONCE).flat_map { |some| where(job_id: some).pluck(:job_id) }.to_set
          end

          # @return [Boolean] whether any of these keys is free now
          def expire(keys) = where(unique_key: keys, expires_at: ..Time.now).update_all(unique_key: nil).positive?
        end
      end
    end
  end
end
