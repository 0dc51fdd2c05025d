# frozen_string_literal: true

require_relative "consumer"

module Guildhall
  module Kafka
    module ActiveJob
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
          @errors.add("active_job_topic needs the name of a queue") if names.empty?
          wrong = PARALLEL.problem(parallel) and @errors.add("active_job_topic: parallel #{wrong}")
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
    end
  end
end
