# frozen_string_literal: true

require_relative "doubles"

module Guildhall
  module Kafka
    module Testing
      module Offline
        # What one partition needs of a {Kafka::Runtime}, without threads and brokers: what it reports is kept.
        class Runtime
          # @return [Config] with pauses between attempts that a test does not notice
          attr_reader :config
          attr_reader :application, :producer, :backpressure, :runners, :timer, :contention
          # @return [Array<Exception>] that were reported
          attr_reader :errors

          # @param application [#instrumentation, #consumer_class] whose subscribers see what happens
          # @param timer [Timer] whose time passes when the test lets it
          # @param steps [Array<#call>] what becomes of each message that is produced
          def initialize(topic, application, config:, timer: Timer.new, steps: [])
            @application = application
            @config = config
            parallel = Config::Deserializing::Parallel.new.tap { |settings| settings.active = false }
            @plan = Deserializing::Plan.new(topic, parallel) # payloads are decoded when they are read, as with `lazy: :on_access`
            @steps = steps
            @producer = Producer.new(steps)
            @backpressure = Kafka::Runtime::Backpressure.new(config, [topic])
            @runners = Runners.new
            @timer = timer
            @errors = []
            @contention = Kafka::Runtime::Contention.new
          end

          def decoding(_topic) = @plan
          def transactional_producer(_id) = TransactionalProducer.new(@steps, @producer)
          def in_background = yield
          def abandon(_handle) = nil
          def consumer_class(declared) = @application.consumer_class(declared)
          def quiet? = false
          def instrumentation = @application.instrumentation
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
