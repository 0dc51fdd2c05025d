# frozen_string_literal: true

require_relative "doubles"

module Guildhall
  module Kafka
    module Testing
      module Offline
        # What one partition needs of an application.
        class Application
          PAUSE_SECONDS = 0.0005 # between two attempts
          private_constant :PAUSE_SECONDS

          # @return [Config] the application's, but for pauses between attempts
          attr_reader :config
          attr_reader :producer, :backpressure, :runners, :timer, :contention
          # @return [Array<Exception>] that were reported
          attr_reader :errors

          def initialize(topic, real)
            @real = real
            @config = real.config.dup
            @config.pause_timeout = @config.pause_max_timeout = PAUSE_SECONDS
            @plan = Deserializing::Plan.new(topic.with(parallel: false)) # payloads are decoded when they are read
            @steps = Producing::Producer.steps(@config, real.routes.topics)
            @producer = Producer.new(@steps)
            @backpressure = Runtime::Backpressure.new(@config, [topic])
            @runners = Runners.new
            @timer = Timer.new
            @errors = []
            @contention = Runtime::Contention.new
          end

          def decoding(_topic) = @plan
          def transactional_producer(_id) = TransactionalProducer.new(@steps, @producer)
          def in_background = yield
          def abandon(_handle) = nil
          def consumer_class(declared) = @real.consumer_class(declared)
          def quiet? = false
          def instrumentation = @real.instrumentation
          def listening?(name) = instrumentation.listening?(name)
          def publish(name, **payload) = instrumentation.publish(name, **payload)

          def error(error, type, **payload)
            @errors << error
            publish("error.occurred", error:, message: Redaction.message(error, messages: config.messages_of_errors?), type:, **payload)
          end
        end
      end
    end
  end
end
