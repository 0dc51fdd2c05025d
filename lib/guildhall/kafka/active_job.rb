# frozen_string_literal: true

require "active_job"
require "active_job/enqueuing" # EnqueueError
require "json"
require "guildhall/errors"
require "guildhall/option_rules"
require_relative "../kafka"
require_relative "active_job/consumer"

module Guildhall
  module Kafka
    # Active Job on Kafka: `config.active_job.queue_adapter = :guildhall`. A queue is a topic; a job is a message whose payload is
    # Active Job's own JSON. Loaded with Rails; elsewhere `require "guildhall/kafka/active_job"`.
    module ActiveJob
      # A job is to be performed later, and the routes have no delay topics. As all of Active Job's adapters without delays raise a
      # NotImplementedError, and not an `ActiveJob::EnqueueError`, which `perform_later` would swallow.
      class DelayedJobError < ::NotImplementedError
        include Error
      end

      # The `enqueue_error` of a unique job: another one with its key is enqueued, and not done.
      class DuplicateJobError < ::ActiveJob::EnqueueError
        include Error
      end

      autoload :Batch, File.expand_path("active_job/batch", __dir__)
      autoload :TrackedJob, File.expand_path("active_job/tracked_job", __dir__)

      # The header of a job that has a {TrackedJob}: the number of its {Batch}, or nothing.
      # @api private
      TRACKED_HEADER = "tracked_job"

      # `guildhall_options` of a job class. Subclasses inherit them.
      module Options
        CALLED = OptionRules.rule("a Symbol or an object with call") { |value| value.is_a?(Symbol) || value.respond_to?(:call) }.or(nil)
        RULES = OptionRules.new(key: CALLED, produce: OptionRules.one_of(:sync, :async, :outbox),
          unique_for: OptionRules.seconds.or(nil), unique_by: CALLED)
        DEFAULTS = {key: nil, produce: :sync, unique_for: nil, unique_by: nil}.freeze
        # What `enqueue_after_transaction_commit` has to be where a job is part of a transaction. false means "as the adapter says" in 7.2.
        # @api private
        AT_ONCE = ::ActiveJob::VERSION::MAJOR < 8 ? :never : false
        private_constant :CALLED, :RULES

        def self.extended(base)
          base.class_attribute(:_guildhall_options, instance_accessor: false, instance_predicate: false, default: DEFAULTS)
        end

        # Without arguments: the options of this class.
        # @option options [#call, Symbol, nil] key takes the job and returns its key, or is the name of a method of the job: jobs of one
        #   key are performed in the order in which they were enqueued. nil, also as the answer: the job has no order
        # @option options [Symbol] produce :sync waits until the broker has the job; :async does not, and `perform_later` does not learn
        #   of an error; :outbox writes it with {Outbox} to the database, in the transaction at hand: switches
        #   `enqueue_after_transaction_commit` off
        # @option options [Numeric, nil] unique_for seconds, from when the job is due, for which no other job with its key is enqueued,
        #   unless it is done before; nil: jobs are not unique. Needs `produce: :outbox`, and the tables of {TrackedJob}
        # @option options [#call, Symbol, nil] unique_by takes the job and returns its key, or is the name of a method of the job: anything
        #   that may be a job's argument. nil: its arguments. Jobs of another class have other keys
        # @raise [Guildhall::ArgumentError] naming every option that is wrong
        def guildhall_options(**options)
          return _guildhall_options if options.empty?

          RULES.check!(options, owner: "guildhall_options of #{name}")
          merged = _guildhall_options.merge(options).freeze
          if merged[:produce] == :outbox
            self.enqueue_after_transaction_commit = AT_ONCE
          elsif merged[:unique_for]
            raise Guildhall::ArgumentError, "guildhall_options of #{name}: unique_for needs produce: :outbox"
          end
          self._guildhall_options = merged
        end
      end

      # `active_job_topic "default", "mailers"` in `Guildhall::Kafka.routes`.
      module Routing
        # Jobs with a key keep its order; those without one have none.
        BY_KEY = ->(message) { message.raw_key || message.offset }
        PARALLEL = OptionRules.boolean
        private_constant :PARALLEL

        # Performs the jobs of these topics. A group that is new begins with the first job that is there. Unless the routes say something
        # else, what keeps failing goes to the dead letter topic "QUEUE.dead", and jobs for later wait in delay topics; both are
        # created where they are missing.
        # @param names [Array<String, Symbol>] queues
        # @param parallel [Boolean] true: the jobs of a partition run side by side, in virtual partitions by key; false: one after
        #   the other
        # @yield further settings of each topic, as in `topic`; `dead_letter_queue false`: what fails is retried for ever
        def active_job_topic(*names, parallel: true, &settings)
          report("active_job_topic needs the name of a queue") if names.empty?
          wrong = PARALLEL.problem(parallel) and report("active_job_topic: parallel #{wrong}")
          names.each do |name|
            topic(name) do
              consumer Consumer
              initial_offset :earliest
              virtual_partitions partitioner: BY_KEY if parallel
              instance_eval(&settings) if settings
              dead_letter_queue_of_its_own
            end
          end
          delay_topics_for(*names)
        end
      end

      # The header of a job's message with attributes of `ActiveSupport::CurrentAttributes`. Classes are known by their names, because a
      # reload makes new ones.
      # @api private
      class CurrentAttributesHeader
        NAME = "current_attributes"
        CLASS = OptionRules.rule("a class of ActiveSupport::CurrentAttributes, or its name") do |one|
          one.is_a?(Class) ? one < ActiveSupport::CurrentAttributes : one.is_a?(String) || one.is_a?(Symbol)
        end
        private_constant :CLASS

        def initialize(classes)
          wrong = classes.filter_map { |one| CLASS.problem(one) }
          raise Guildhall::ArgumentError, "current_attributes: each #{wrong.uniq.join("; ")}" if wrong.any?

          @names = classes.map(&:to_s).freeze
        end

        # Empty where nothing is set.
        def headers
          set = @names.map(&:constantize).to_h { |one| [one.name, one.attributes.compact] }.reject { |_, attributes| attributes.empty? }
          set.empty? ? {} : {NAME => ::JSON.generate(set.transform_values { |attributes| ::ActiveJob::Arguments.serialize([attributes]) })}
        end

        # @return [Hash{Class=>Hash{Symbol=>Object}}] for {#with}, without attributes that the class has no longer
        # @raise [::ActiveJob::DeserializationError] for a record that is gone
        # @raise [Kafka::UndecodableMessageError] for a header that {#headers} has not made
        def read(headers)
          json = headers[NAME]
          return {} unless json && @names.any?

          parse(json).slice(*@names).to_h do |name, serialized|
            current = name.constantize
            attributes = ::ActiveJob::Arguments.deserialize(serialized).first
            [current, attributes.select { |attribute, _| current.respond_to?(:"#{attribute}=") }]
          end
        end

        # Runs the block with the attributes of {#read} set.
        def with(all, &block)
          all.to_a.reverse.reduce(block) { |inner, (current, attributes)| -> { current.set(attributes, &inner) } }.call
        end

        private

        def parse(json)
          all = json.is_a?(String) ? ::JSON.parse(json) : refuse("is there #{json.size} times")
          all.is_a?(Hash) && all.each_value.all? { |one| one in [Hash] } ? all : refuse("is not a map of attributes by class")
        rescue ::JSON::ParserError
          refuse("is invalid JSON")
        end

        def refuse(reason)
          raise Kafka::UndecodableMessageError.new("the header #{NAME} #{reason}", codec: "job")
        end
      end

      @current_attributes_header = CurrentAttributesHeader.new([])

      class << self
        # @!visibility private
        attr_reader :current_attributes_header

        # Carries these attributes from where a job is enqueued to where it is performed, in a header of its message. What Active Job
        # cannot serialize raises when the job is enqueued. Called once, when the application boots.
        # @param classes [Array<Class, String>] of `ActiveSupport::CurrentAttributes`; nothing: none is carried any more
        def current_attributes(*classes)
          @current_attributes_header = CurrentAttributesHeader.new(classes)
        end
      end

      ::ActiveJob::QueueAdapters.autoload(:GuildhallAdapter, File.expand_path("active_job/queue_adapter", __dir__))
      ActiveSupport.on_load(:active_job) { extend Options }
      Kafka::Routing::GroupBuilder.include(Routing)
    end
  end
end
