# frozen_string_literal: true

require_relative "../producing/producer"
require_relative "../producing/transactional_producer"

module Guildhall
  module Kafka
    class Application
      # The producers of an application, whether it consumes or not. Any thread.
      class Producers
        # @param log [Logging::Log] has the log of librdkafka
        def initialize(application, log)
          @application = application
          @log = log
          @lock = Mutex.new
          @most_abandoned = 0
          @pid = nil
          forget
        end

        # The producer for messages outside transactions, made when it is first asked for; after a fork, again.
        # @yield before it is made
        # @raise [MissingDependencyError] without the gem waterdrop
        # @raise [ConfigurationError] listing every error of the settings
        def producer
          @lock.synchronize do
            forget if @pid != Process.pid
            @producer ||= create { yield if block_given? }
          end
        end

        # @param id [String] the transactional id
        # @return [Producing::TransactionalProducer] which has to be opened
        def transactional(id)
          settings = {**Producing::Producer.settings(config), "transactional.id": id}
          steps = Producing::Producer.steps(config, routes.method(:latest_topics))
          with_delay_topics(Producing::TransactionalProducer.new(settings, steps))
        end

        # Nobody waits any more for a message that was produced and not confirmed: {#close} does not either.
        def abandon(handle)
          @lock.synchronize do
            if @abandoned.size >= @most_abandoned # rarely: partitions that are left together may have many thousands
              @abandoned = @abandoned.select(&:pending?)
              @most_abandoned = [@abandoned.size * 2, 100].max
            end
            @abandoned << handle
          end
        end

        # @return [Integer] messages that wait in the producer for a broker
        def queue_size = opened&.queue_size || 0

        # @return [Boolean] whether there is a producer to close
        def open? = !opened.nil?

        # @return [Boolean] whether what was produced has been delivered
        def close(deadline)
          producer, abandoned = @lock.synchronize { [(@producer if @pid == Process.pid), @abandoned].tap { forget } }
          return true if producer.nil? || Producing::Producer.close(producer, deadline, abandoned)

          report(Guildhall::TimeoutError.new("messages could not be delivered before the shutdown timeout, and were dropped"))
          false
        rescue StandardError => error
          report(error)
          false
        end

        private

        def config = @application.config

        # What nobody waits for belongs to that producer: of another one, as after a fork, as many messages would be dropped.
        def forget
          @producer = nil
          @abandoned = []
        end

        def routes = @application.routes

        def opened = @lock.synchronize { @producer if @pid == Process.pid }

        def create
          config.validate!
          yield
          @pid = Process.pid
          # Its routes are evaluated later, without the lock: their blocks may ask for this producer.
          with_delay_topics(Producing::Producer.create(config, routes.method(:latest_topics), @log.librdkafka)).tap do |producer|
            tell_of(producer) if @application.listening?("messages.produced")
            Producing::Producer.on_undelivered(producer) { |error, place| report(error, **place) }
          end
        end

        def with_delay_topics(producer) = producer.tap { producer.delay_topics = routes.method(:delay_topics) }

        def tell_of(producer)
          Producing::Producer.on_produced(producer) { |figures| @application.publish("messages.produced", **figures) }
        end

        def report(error, **place) = @application.error(error, "producer", **place)
      end
    end
  end
end
