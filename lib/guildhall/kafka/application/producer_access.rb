# frozen_string_literal: true

require "guildhall/error_boundary"
require_relative "../producing/producer"
require_relative "../producing/transactional_producer"

module Guildhall
  module Kafka
    class Application
      # The producer of an application, whether it consumes or not.
      module ProducerAccess
        # The application's producer, made when it is first asked for (after a fork, again); closed by {#stop}, or at the end
        # of the process. Payloads other than Strings are encoded as the topic's route says.
        # @raise [MissingDependencyError] without the gem waterdrop
        # @raise [ConfigurationError] listing every error of the settings
        def producer
          @lock.synchronize do
            @producer = nil if @producer_pid != Process.pid
            @producer ||= create_producer
          end
        end

        # @!visibility private
        # @param id [String] the transactional id
        # @return [Producing::TransactionalProducer] which has to be opened
        def transactional_producer(id)
          settings = {**Producing::Producer.settings(@config), "transactional.id": id}
          Producing::TransactionalProducer.new(settings, Producing::Producer.steps(@config, @routes.topics)).tap do |producer|
            producer.delay_tiers = -> { @routes.topics.filter_map(&:delay_tiers).first }
          end
        end

        # What waits for a broker and must not hold up a runner; {#stop} waits for it.
        # @!visibility private
        def in_background(&)
          thread = Thread.new { ErrorBoundary.contain(->(raised) { error(raised, "background") }, &) }
          thread.name = "guildhall background"
          thread.report_on_exception = false
          @lock.synchronize { @background = [*@background&.select(&:alive?), thread] }
        end

        # Nobody waits any more for a message that was produced and not confirmed: {#stop} does not either.
        # @!visibility private
        def abandon(handle)
          @lock.synchronize do
            if @abandoned.size >= @most_abandoned # rarely: partitions that are left together may have many thousands
              @abandoned = @abandoned.select(&:pending?)
              @most_abandoned = [@abandoned.size * 2, 100].max
            end
            @abandoned << handle
          end
        end

        # @!visibility private
        # @return [Integer] messages that wait in the producer for a broker
        def producer_queue
          producer = @lock.synchronize { @producer if @producer_pid == Process.pid }
          producer ? producer.queue_size : 0
        end

        private

        def create_producer
          errors = Config::Errors.new
          @config.validate(errors)
          errors.raise!
          open_log
          measure
          stop_at_exit
          @producer_pid = Process.pid
          Producing::Producer.create(@config, @routes.topics, @journal.librdkafka).tap do |producer|
            producer.delay_tiers = -> { @routes.topics.filter_map(&:delay_tiers).first }
            tell_of(producer) if listening?("messages.produced")
            Producing::Producer.on_undelivered(producer) { |error, place| error(error, "producer", **place) }
          end
        end

        def tell_of(producer)
          Producing::Producer.on_produced(producer) { |figures| publish("messages.produced", **figures) }
        end

        # @return [Boolean] whether it has ended
        def wait_background(deadline)
          threads = @lock.synchronize { [*@background] }
          threads.map { |thread| thread.join(Clock.left(deadline)) }.all?
        end

        # @return [Boolean] whether what was produced has been delivered
        def close_producer(deadline)
          producer = @lock.synchronize { @producer.tap { @producer = nil } if @producer_pid == Process.pid }
          return true if producer.nil? || Producing::Producer.close(producer, deadline, @lock.synchronize { @abandoned.dup })

          error(Guildhall::TimeoutError.new("messages could not be delivered before the shutdown timeout, and were dropped"), "producer")
          false
        rescue StandardError => error
          error(error, "producer")
          false
        end
      end
    end
  end
end
