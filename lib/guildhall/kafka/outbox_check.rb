# frozen_string_literal: true

module Guildhall
  module Kafka
    # Whether what an application writes to its outbox is sent: for `guildhall check`, and for the start of a server.
    # @api private
    class OutboxCheck
      SWITCH = "config.outbox = true, in config/guildhall.rb"
      MOST = 5 # job classes that are named
      private_constant :SWITCH, :MOST

      # What is wrong. name: of a setting, a table or a database; cure: a line of the settings, or nil where the text says it
      Problem = Data.define(:name, :text, :cure) do
        def to_s = [text, *cure].join(": ")
      end

      class << self
        # Asks the database, where the application uses its outbox; else it does not even load Active Record.
        # @param load_jobs [Boolean] whether job classes are loaded that were not used yet
        # @return [Array<Problem>, nil] nil: the application has no outbox
        def problems(config, load_jobs: false)
          left = load_jobs ? unloaded : []
          jobs = job_classes.select { |job| job.guildhall_options[:produce] == :outbox }
          return (left if left.any?) unless config.outbox || jobs.any?

          [*left, *(switched_off(jobs) unless config.outbox), *of_tables(jobs)]
        end

        private

        # Rails loads them when they are first used, but in production.
        # @return [Array<Problem>] where one cannot be loaded
        def unloaded
          folder = ::Rails.root&.join("app/jobs") if defined?(::Rails.application) && ::Rails.application
          ::Rails.autoloaders.main.eager_load_dir(folder.to_s) if folder&.directory?
          []
        rescue ::ScriptError, ::StandardError => error
          [Problem.new(name: "app/jobs", text: "cannot be loaded: #{error.class}: #{error.message.lines.first&.strip}", cure: nil)]
        end

        # @return [Array<Class>] those that are loaded, and have a name; a class whose superclass says it is named as well
        def job_classes
          return [] unless Kafka.const_defined?(:ActiveJob, false) && !::ActiveJob.autoload?(:Base)

          ::ActiveJob::Base.descendants.select(&:name).sort_by(&:name)
        end

        def switched_off(jobs)
          names = jobs.first(MOST).map(&:name)
          more = " and #{jobs.size - MOST} more" if jobs.size > MOST
          Problem.new(name: "config.outbox", cure: SWITCH,
            text: "#{names.join(", ")}#{more} #{jobs.one? ? "has" : "have"} produce: :outbox, and config.outbox is off: no process of " \
                  "this application sends what these jobs write")
        end

        def of_tables(jobs)
          needed = [Outbox::Message, Outbox::Shard, *(ActiveJob::TrackedJob if jobs.any? { |job| job.guildhall_options[:unique_for] })]
          faults = needed.to_h { |record| [record, record.fault] }.compact
          faults.map { |record, fault| Problem.new(name: record.table_name, text: fault.message, cure: nil) }
        rescue ::ActiveRecord::ActiveRecordError => error
          [Problem.new(name: "database", text: "the outbox's database does not answer: #{error.class}: #{error.message.lines.first&.strip}",
            cure: nil)]
        end
      end
    end
  end
end
