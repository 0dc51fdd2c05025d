# frozen_string_literal: true

require "guildhall/kafka"
require_relative "offline"

module Guildhall
  module Kafka
    module Testing
      # One partition of a topic without a broker: its messages are decoded as the route says, and consumed by the route's consumer in
      # the thread of the test, with retries (almost without pauses), dead letters and marks; where the consumer pauses, it stays so. The
      # consumer's own `produce_sync` and `produce_async` are kept; `Guildhall::Kafka.producer` is the real one.
      #
      #     orders = Guildhall::Kafka::Testing.topic("orders")
      #     orders.deliver({"id" => 7}, "{")
      #     orders.done                            # => 2
      #     orders.dead_letters.map { _1[:payload] } # => ["{"]
      class OfflineTopic
        MAX_PAUSES = 200 # for one delivery: a message that is retried for ever would keep the test from ending
        PAUSE_SECONDS = 0.0005 # between two attempts
        KEYWORDS = %i[key headers timestamp].freeze
        private_constant :MAX_PAUSES, :PAUSE_SECONDS, :KEYWORDS

        def initialize(topic, application)
          @topic = topic = topic.with(retries: topic.retries.with(pause_timeout: nil, pause_max_timeout: nil))
          config = application.config.dup
          config.pause_timeout = config.pause_max_timeout = PAUSE_SECONDS
          steps = Producing::Producer.steps(config, application.routes.method(:latest_topics))
          @runtime = Offline::Runtime.new(topic, application, config:, steps:)
          @serializing = Producing::Serializing.new(-> { [topic] })
          @listener = Offline::Listener.new
          @partition = Partition.new(topic, topic.name, 0, @listener, @runtime)
          @partition.begin
          @next_offset = 0
        end

        # Delivers a batch, and lets it be consumed. Blocks until nothing is left to do.
        # @param payloads [Array<Object>] a String is taken as the bytes, nil as a tombstone; anything else is encoded as the route says
        # @param key [String, nil] of all of them
        # @param headers [Hash{String=>String}] of all of them
        # @param timestamp [Time] of all of them
        # @raise [Guildhall::Error] if a message is retried for ever: without a dead letter queue, a failing one is
        # @raise [Guildhall::ArgumentError] for another keyword
        def deliver(*payloads, key: nil, headers: {}, timestamp: Time.now, **others)
          refuse(others.keys.first) if others.any?
          records = payloads.map { |payload| record(payload, key, headers, timestamp) }
          @partition.deliver(records, Offline::Record.bytes(records))
          work
          self
        end

        # Calls the consumer's `tick`.
        def tick
          @partition.notify(:tick)
          work
          self
        end

        # Runs the blocks of the consumer's `every`, each once.
        def every
          @topic.consumer.periods.each_index { |index| @partition.notify([:periodic, index]) }
          work
          self
        end

        # Stops as the process does, or as a rebalance: the consumer's `shutdown` or `revoked` is called.
        # @param reason [Symbol] :shutdown or :revoked
        def leave(reason = :shutdown)
          @partition.leave(reason)
          work
          self
        end

        # @return [Integer] offset of the first message that is not done, which would be committed; messages count from 0
        def done
          @partition.store
          @listener.client.stored.last || 0
        end

        # @return [Array<Hash>] what went to the dead letter topic: topic:, payload:, key:, headers:
        def dead_letters = @runtime.producer.dead_letters

        # @return [Array<Hash>] what the consumer has produced: topic:, payload: …
        def produced = @runtime.producer.produced

        # @return [Array<Exception>] what was reported, each attempt for itself
        def errors = @runtime.errors

        private

        def refuse(keyword)
          raise Guildhall::ArgumentError, "#{OptionRules.unknown("keyword #{keyword}", keyword, KEYWORDS)}; a payload that is a Hash " \
                                          "needs braces: deliver({\"id\" => 7})"
        end

        def record(payload, key, headers, timestamp)
          raw = @serializing.call({topic: @topic.name, payload:})[:payload]
          offset = @next_offset
          @next_offset += 1
          Ractor.make_shareable(Offline::Record.new(topic: @topic.name, partition: 0, offset:, timestamp:, key:, raw_payload: raw&.dup,
            headers: headers.to_h { |name, value| [name.to_s, value] }))
        end

        def work
          MAX_PAUSES.times do
            nil while step
            return unless @runtime.timer.pass
          end
          raise TaskError, ["#{@topic} is retried for ever: #{errors.last&.full_message(highlight: false)}", *advice].join("\n")
        end

        def advice = errors.last && Redaction.advice(errors.last)

        def step
          job = @listener.requests.shift || @runtime.runners.jobs.shift or return false
          job.respond_to?(:run) ? job.run : job.call
          true
        end
      end
    end
  end
end
