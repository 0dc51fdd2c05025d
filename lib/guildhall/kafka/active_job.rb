# frozen_string_literal: true

require "active_job"
require_relative "../kafka"
require_relative "active_job/carried"
require_relative "active_job/delayed_job_error"
require_relative "active_job/options"
require_relative "active_job/consumer"
require_relative "active_job/routing"

module Guildhall
  module Kafka
    # Active Job on Kafka: `config.active_job.queue_adapter = :guildhall`. A queue is a topic; a job is a message whose payload is
    # Active Job's own JSON. Loaded with Rails; elsewhere `require "guildhall/kafka/active_job"`.
    module ActiveJob
      @carried = Carried.new([])

      class << self
        # @return [Carried] what travels with each job
        attr_reader :carried

        # Carries these attributes from where a job is enqueued to where it is performed, in a header of its message. What Active Job
        # cannot serialize raises when the job is enqueued. Called once, when the application boots.
        # @param classes [Array<Class, String>] of `ActiveSupport::CurrentAttributes`; nothing: none is carried any more
        def current_attributes(*classes)
          @carried = Carried.new(classes)
        end
      end

      ::ActiveJob::QueueAdapters.autoload(:GuildhallAdapter, File.expand_path("active_job/queue_adapter", __dir__))
      ActiveSupport.on_load(:active_job) { extend Options }
      Kafka::Routing::GroupBuilder.include(Routing)
    end
  end
end
