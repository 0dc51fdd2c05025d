# frozen_string_literal: true

require_relative "../producing/producer"
require_relative "../producing/transactional_producer"

module Guildhall
  module Kafka
    class Application
      # The producers of an application, whether it consumes or not. Any thread.
      class Producers
        def initialize(application, log)
          @application = application
          @log = log
          @lock = Mutex.new
          @pid = nil
          forget
        end

        # See {Application#producer}.
        # @yield before it is made
        def producer(&)
          @lock.synchronize do
            forget if @pid != Process.pid
            @producer ||= create(&)
          end
        end

        # @param id [String] the transactional id
        def transactional(id)
          settings = {**Producing::Producer.settings(config), "transactional.id": id}
          steps = Producing::Producer.steps(config, routes.method(:latest_topics))
          with_delay_topics(Producing::TransactionalProducer.new(settings, steps))
        end

        # Nobody waits any more for a message that was produced and not confirmed: {#close} does not either.
        def abandon(handle) = @lock.synchronize { @abandoned[handle] = true }
        def queue_size = opened&.queue_size || 0
        def open? = !opened.nil?

        # @return [Boolean] whether what was produced has been delivered
        def close(deadline)
          producer, abandoned = @lock.synchronize { [(@producer if @pid == Process.pid), @abandoned.keys].tap { forget } }
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
          @abandoned = ObjectSpace::WeakMap.new # rdkafka keeps the handle of a message until that has arrived
        end

        def routes = @application.routes
        def opened = @lock.synchronize { @producer if @pid == Process.pid }

        def create
          config.validate!
          yield
          @pid = Process.pid
          # Its routes are evaluated later, without the lock: their blocks may ask for this producer.
          with_delay_topics(Producing::Producer.create(config, routes.method(:latest_topics), @log.librdkafka)).tap do |producer|
            if @application.listening?("messages.produced")
              Producing::Producer.on_produced(producer) { |figures| @application.publish("messages.produced", **figures) }
            end
            Producing::Producer.on_undelivered(producer) { |error, place| report(error, **place) }
          end
        end

        def with_delay_topics(producer) = producer.tap { producer.delay_topics = routes.method(:delay_topics) }
        def report(error, **place) = @application.error(error, "producer", **place)
      end
    end
  end
end
