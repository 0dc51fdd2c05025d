# frozen_string_literal: true

require "json"
require "rdkafka"
require_relative "checks"
require_relative "tally"

module Demo
  # The same work as one writes it by hand today: the client's batch poll, JSON.parse, the checks in a loop.
  class ByHand
    # @param topic [Topic]
    # @param settings [Hash] librdkafka's, the same as the other consumer's
    # @param total [Integer] how many messages there are to handle
    def initialize(topic, settings, total)
      @topic = topic
      @settings = settings
      @total = total
      @tally = Tally.new
    end

    attr_reader :tally

    # @param stop [#call] true: stop now
    # @return [Tally]
    def run(stop, progress)
      consumer = Rdkafka::Config.new(@settings).consumer
      consumer.subscribe(@topic.name)
      until @tally.handled >= @total || stop.call
        messages = consumer.poll_batch(200, max_items: 500)
        next if messages.empty?

        process(messages)
        progress.at(@tally.handled)
      end
      @tally
    ensure
      consumer&.close
    end

    private

    def process(messages)
      @tally.begun
      batch = {counts: Hash.new(0), filtered: 0, tombstones: 0, failures: [], bytes: 0}
      messages.each do |message|
        raise message if message.is_a?(Exception)

        handle(message, batch)
      end
      @tally.add(**batch)
    end

    def handle(message, batch)
      payload = message.payload
      return batch[:tombstones] += 1 if payload.nil?

      batch[:bytes] += payload.bytesize
      delivery = parse(payload)
      errors = Checks.errors(delivery)
      raise ArgumentError, errors.join("; ") if errors.any?

      event = message.headers["event"]
      return batch[:filtered] += 1 unless Checks::EVENTS.include?(event)

      summary = Checks.summarize(delivery, event)
      batch[:counts][[summary.repository, summary.event]] += 1
    rescue JSON::ParserError, ArgumentError => error
      batch[:failures] << [error.class.name, Tally::Example.new(@topic.name, message.partition, message.offset, nil, error.message)]
    end

    def parse(payload)
      raise ArgumentError, "invalid UTF-8" unless payload.force_encoding(Encoding::UTF_8).valid_encoding?

      JSON.parse(payload)
    end
  end
end
