# frozen_string_literal: true

module Guildhall
  module Kafka
    class Consumer
      # Short ways to the application's producer, with waterdrop's names and arguments; in a transaction, to its own. Any thread.
      module ProducerMethods
        # @return [WaterDrop::Producer, Producing::TransactionalProducer] the latter in a transaction
        # @raise [MissingDependencyError] without the gem waterdrop
        def producer
          @call.producer
        end

        # Does not wait for the broker.
        def produce_async(...) = producer.produce_async(...)

        # Blocks for the broker's answer.
        def produce_sync(...) = producer.produce_sync(...)

        # (see Producing::Later#produce_later)
        def produce_later(...) = producer.produce_later(...)

        # (see #produce_async)
        def produce_many_async(...) = producer.produce_many_async(...)

        # (see #produce_sync)
        def produce_many_sync(...) = producer.produce_many_sync(...)
      end
    end
  end
end
