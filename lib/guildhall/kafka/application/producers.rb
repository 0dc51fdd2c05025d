# frozen_string_literal: true

require_relative "../producer"
require_relative "../producing/serializing"
require_relative "../producing/settings"
require_relative "../producing/transactional_producer"
require_relative "../producing/transactions"

module Guildhall
  module Kafka
    class Application
      # The producers of an application, whether it consumes or not. Any thread.
      # @api private
      class Producers
        # Ruby's severity of a level of librdkafka's log.
        SEVERITIES = [*[Logger::FATAL] * 3, Logger::ERROR, Logger::WARN, Logger::INFO, Logger::INFO, Logger::DEBUG].freeze
        private_constant :SEVERITIES

        def initialize(application, log)
          @application = application
          @log = log
          @lock = Mutex.new
          @pid = nil
          forget
        end

        # See {Application#producer}.
        # @yield before it is made, and in each process that it produces in, which may have been forked since
        def producer(&)
          @lock.synchronize { @producer ||= create(&) }
        end

        # @param id [String] the transactional id
        def transactional(id)
          settings = Producing::Settings.of(config, "transactional.id": id)
          with_delay_topics(Producing::TransactionalProducer.new(settings, steps, listener: method(:hear)))
        end

        # For an outbox's relay, which parks what brokers refuse. Its messages have passed the steps.
        def patient
          refused = ->((kind, code, *)) { kind == :error && Broker::Errors.symbol(code) == :gapless_guarantee }
          Producer.new(Producing::Settings.patient(config), listener: ->(event) { hear(event) unless refused.call(event) })
        end

        # What becomes of each message before it is sent.
        # @return [Array<#call>]
        def steps = [*config.producer_middleware, Producing::Serializing.new(routes.method(:latest_topics))]

        # Nobody waits any more for a message that was produced and not confirmed: {#close} does not either.
        def abandon(delivery)
          @lock.synchronize do
            if @abandoned.size >= @most_abandoned # rarely: partitions that are left together may have many thousands
              @abandoned = @abandoned.select(&:pending?)
              @most_abandoned = [@abandoned.size * 2, 100].max
            end
            @abandoned << delivery
          end
        end

        def queue_size = opened&.queue_size || 0
        def open? = !opened.nil?

        # Delivers what was produced; what could not be delivered in time is dropped.
        # @return [Boolean] whether all was delivered
        def close(deadline)
          producer, transactions, abandoned = @lock.synchronize do
            [(@producer if @pid == Process.pid), @transactions, @abandoned].tap { forget }
          end
          transactions&.close
          return true if producer.nil? || producer.close(deadline) { |left| left <= abandoned.count(&:pending?) }

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
          @producer = @transactions = nil
          @abandoned = []
          @most_abandoned = 0
        end

        def routes = @application.routes
        def opened = @lock.synchronize { @producer if @pid == Process.pid }

        def create(&in_process)
          config.validate!
          in_process.call
          @pid = Process.pid
          # Its routes are evaluated later, without the lock: their blocks may ask for this producer.
          with_events(with_delay_topics(Producer.new(Producing::Settings.of(config), steps:, listener: method(:hear)))).tap do |producer|
            producer.on_fork = -> { note_process(&in_process) }
            id = Producing::Settings.transactional_id(config)
            producer.transactions = @transactions = Producing::Transactions.new(method(:report)) { with_events(transactional(id)) } if id
          end
        end

        # A child has the parent's producer, which makes a client of its own there: what that has produced is delivered when the child ends.
        def note_process
          @lock.synchronize do
            @abandoned = [] if @pid != Process.pid
            @pid = Process.pid
          end
          yield
        end

        def with_events(producer)
          if @application.listening?("messages.produced")
            producer.on_produced = ->(**figures) { @application.publish("messages.produced", **figures) }
          end
          producer
        end

        def with_delay_topics(producer) = producer.tap { producer.delay_topics = routes.method(:delay_topics) }

        # In a producer's own thread. What cannot pass by itself is reported; that brokers do not answer, the log says.
        def hear((kind, *details))
          case kind
          when :undelivered
            code, topic, partition = details
            report(ProduceError.of(code, topic), topic:, partition:)
          when :error
            code, text = details
            report(KafkaError.of(code, text)) unless Broker::Errors.kind(code) == :unanswered
          when :log
            level, _facility, text = details
            @log.librdkafka.add(SEVERITIES.fetch(level, Logger::DEBUG), "rdkafka: #{text}")
          end
        end

        def report(error, **place) = @application.error(error, "producer", **place)
      end
    end
  end
end
