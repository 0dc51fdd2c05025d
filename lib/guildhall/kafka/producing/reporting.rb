# frozen_string_literal: true

module Guildhall
  module Kafka
    module Producing
      # Brings the errors of a producer to those who can do something about them.
      module Reporting
        # The label of messages whose sender waits for them, and reports what becomes of them.
        AWAITED = :guildhall_awaited

        # Publishes an error event if a message of `produce_async` is not delivered, because its caller may not wait for it. A producer that
        # is closed before it could deliver reports that once, not for each message.
        # @yieldparam place [Hash{Symbol=>Object}] topic and partition
        def self.subscribe(producer)
          producer.monitor.subscribe("error.occurred") do |event|
            error = event[:error]
            next if event[:type] != "librdkafka.dispatch_error" || Broker::Errors.purged?(error.code) || event[:label] == AWAITED

            yield(error, {topic: event[:topic], partition: event[:partition]})
          end
        end

        %i[produce_sync produce_async produce_many_sync produce_many_async].each do |name|
          class_eval(<<~RUBY, __FILE__, __LINE__ + 1)
            # As waterdrop's.
            # @raise [QueueFullError] when the producer's queue stays full
            def #{name}(...)    # def produce_sync(...)
              super             #   super
            rescue WaterDrop::Errors::ProduceError => error
              raise explained(error)
            end
          RUBY
        end

        private

        # The same error, which says what to do.
        def explained(error)
          return error unless error.cause.is_a?(Rdkafka::RdkafkaError) && error.cause.code == :queue_full

          seconds = config.wait_timeout_on_queue_full / 1000.0
          error.exception("the producer's queue was full for #{seconds} s: messages are produced faster than the brokers take them. " \
                          "Produce slower (wait for the handles of produce_async), or raise queue.buffering.max.messages or " \
                          "queue.buffering.max.kbytes in config.producer").extend(QueueFullError)
        end
      end
    end
  end
end
