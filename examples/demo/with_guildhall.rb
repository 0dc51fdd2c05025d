# frozen_string_literal: true

require_relative "checks"
require_relative "tally"

module Demo
  # What happens to each payload on the worker Ractors: decode → validate → select → map.
  module Stages
    CHECK = Guildhall.validate { |delivery| Checks.errors(delivery) }
    WANTED = Guildhall.select { |_, metadata| Checks::EVENTS.include?(metadata.headers["event"]) }
    SUMMARY = Guildhall.map { |delivery, metadata| Checks.summarize(delivery, metadata.headers["event"]) }
    ALL = Guildhall::JSON.lazy >> CHECK >> WANTED >> SUMMARY
  end

  # Counts what the workers made of the deliveries.
  class WebhookConsumer < Guildhall::Kafka::Consumer
    # What all partitions' consumers add to.
    TALLY = Tally.new

    def consume
      TALLY.begun
      counts = Hash.new(0)
      messages.each_decoded { |_, summary| counts[[summary.repository, summary.event]] += 1 }
      TALLY.add(counts:, filtered: messages.dropped, tombstones: messages.tombstones.size, bytes: messages.bytes,
        failures: messages.failures.map { |message| [kind(message.failure), example(message)] }, record: offsets)
    end

    private

    def kind(failure)
      "#{failure.stage}: #{failure.details[:reason] || failure.error_class}"
    end

    def example(message)
      failure = message.failure
      Tally::Example.new(message.topic, message.partition, message.offset, failure.details[:offset], failure.message)
    end

    def offsets
      messages.map { |message| "#{message.partition} #{message.offset}" }
    end
  end

  # The consumer as one writes it with Guildhall: settings, a route, start, stop.
  class WithGuildhall
    STALLED = 60 # seconds without a message after which something is wrong

    attr_reader :worker_counts

    # @param settings [Hash] librdkafka's
    # @param options [Options]
    def initialize(topic, settings, options)
      @topic = topic
      @settings = settings
      @options = options
      @worker_counts = {}
      @complaints = Set.new
    end

    def tally = WebhookConsumer::TALLY

    # @param stop [#call] true: stop now
    # @param total [Integer] how many messages there are to handle
    # @return [void]
    def call(stop, progress, total)
      @pool = Guildhall::Pool.new(workers: @options.workers)
      @pool.warm_up(Stages::ALL)
      tally.record_to(@options.record)
      configure
      Guildhall::Kafka.start
      wait(stop, progress, total)
    ensure
      Guildhall::Kafka.stop(timeout: 4) if Guildhall::Kafka.application.running?
      @worker_counts = shares if @pool
      @pool&.shutdown(timeout: 1)
    end

    private

    def configure
      Guildhall::Kafka.configure do |config|
        config.kafka = @settings
        config.pool = @pool
        config.concurrency = 2
      end
      Guildhall::Kafka.instrumentation.subscribe("consumer.skipped") { |event| tally.skipped(event.payload) }
      Guildhall::Kafka.instrumentation.subscribe("error.occurred") { |event| complain(event.payload) }
      name = @topic.name
      Guildhall::Kafka.routes do
        topic(name) do
          consumer WebhookConsumer
          deserializer Stages::ALL
          deserializing parallel: true
        end
      end
    end

    # @return [Hash{String=>Integer}] payloads by who did them
    def shares
      stats = @pool.stats
      {**stats.fetch(:by_worker).to_h { |number, done| ["worker #{number}", done.fetch(:payloads)] }, "callers" => stats.fetch(:inlined)}
    end

    # Each kind once: what raises is tried again, again and again.
    def complain(payload)
      return unless @complaints.add?([payload[:type], payload[:error].class])

      warn("  #{payload[:type]}: #{payload[:error].class}: #{payload[:error].message}")
    end

    def wait(stop, progress, total)
      seen = -1
      moved = Demo.now
      until (handled = tally.handled) >= total || stop.call
        moved = Demo.now if handled != seen
        seen = handled
        raise Guildhall::Error, "no message for #{STALLED} s, #{handled} of #{total} are done" if Demo.now - moved > STALLED

        progress.at(handled)
        sleep(0.01)
      end
      progress.at(tally.handled)
    end
  end
end
