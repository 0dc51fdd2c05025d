# frozen_string_literal: true

require_relative "dead_letter_topic"
require_relative "replay/outcome"

module Guildhall
  module Kafka
    # Sends letters back to where they came from: their bytes, key and headers, to the partition they had. A chunk is
    # produced, waited for, and only then noted as replayed: whatever happens in between, nothing is passed over, and at
    # most one chunk is replayed twice. The letters stay where they are.
    class Replay
      CHUNK = 100
      # Nobody waits five minutes, librdkafka's default, to hear that a topic cannot be written to.
      SETTINGS = {"enable.idempotence": true, "linger.ms": 5, "message.timeout.ms": 30_000}.freeze

      # @param letters [DeadLetterTopic]
      # @param config [Config]
      # @param to [String, nil] another topic for all of them, whose partitioner decides; nil: where each came from
      # @param note [Boolean] whether how far it came is kept at the broker, for the next time
      # @yieldparam letter [Letter] which to replay; without a block: all
      # @raise [Guildhall::ArgumentError] where there is no topic `to`
      def initialize(letters, config, to: nil, note: true, &filter)
        @letters = letters
        @config = config
        @to = to
        @note = note
        @filter = filter
        @interrupted = false
        check_target(to, "there is no topic #{to}") if to
      end

      # Ends it after the chunk at hand. May be called by any thread, and by a trap.
      # @return [void]
      def interrupt
        @interrupted = true
      end

      # @return [Boolean]
      def interrupted?
        @interrupted
      end

      # Blocks until all are replayed, or it is interrupted.
      # @param ranges [Hash{Integer=>Range<Integer>}] of offsets, by partition
      # @yieldparam outcome [Outcome] after each chunk
      # @return [Array<Outcome>] of the partitions that it came to
      # @raise [Guildhall::Error] where a letter cannot be replayed; those before it are, and are noted
      def run(ranges)
        @producer = Rdkafka::Config.new(Producer.settings(@config).merge(SETTINGS)).producer
        ranges.each_with_object([]) do |(partition, range), outcomes|
          break outcomes if @interrupted

          outcomes << Outcome.new(partition)
          replay(partition, range, outcomes.last) { yield outcomes.last if block_given? }
        end
      ensure
        @producer&.close
      end

      private

      def replay(partition, range, outcome)
        chunk = []
        @letters.each(partition, range) do |letter|
          chunk << letter
          next if chunk.size < CHUNK

          send_back(chunk, outcome)
          yield
          chunk = []
          break if @interrupted
        end
        send_back(chunk, outcome)
        yield
      end

      # In order: where one cannot be replayed, those behind it count as not replayed, although they may be.
      def send_back(chunk, outcome)
        chosen = @filter ? chunk.select(&@filter) : chunk
        outcome.skip(chunk.size - chosen.size)
        done = nil
        produce_all(chosen) { |letter| outcome.count(done = letter.offset) }
        done = chunk.last&.offset
      ensure
        @letters.replayed_up_to(outcome.partition, done + 1) if done && @note
      end

      # Whatever happens, those that were produced are waited for.
      def produce_all(letters)
        handles = []
        fault = nil
        begin
          letters.each { |letter| handles << [letter, produce(letter)] }
        rescue Guildhall::Error, Rdkafka::RdkafkaError => error
          fault = error
        end
        handles.each { |letter, handle| wait(letter, handle) && yield(letter) }
        raise fault if fault
      end

      def produce(letter)
        topic = @to || letter.source_topic or raise Guildhall::Error, "#{letter} does not say which topic it came from: name one (to)"
        partitions = @to ? nil : check_target(topic, "#{letter} came from #{topic}, which is no more: name another topic (to)")
        partition = letter.source_partition if partitions && letter.source_partition&.<(partitions)
        @producer.produce(topic:, partition:, key: letter.key, payload: letter.payload, headers: letter.original_headers)
      end

      def wait(letter, handle)
        handle.wait(max_wait_timeout_ms: SETTINGS[:"message.timeout.ms"] + 10_000)
      rescue Rdkafka::RdkafkaError, Rdkafka::AbstractHandle::WaitTimeoutError => error
        raise Guildhall::Error, "#{letter} was not replayed: #{error.message}"
      end

      # @return [Integer] how many partitions the topic has
      def check_target(topic, complaint)
        raise Guildhall::ArgumentError, "a dead letter topic cannot be replayed to itself" if topic == @letters.name

        @letters.topics[topic] || raise(Guildhall::ArgumentError, "#{complaint}#{Faults.suggestion(topic, @letters.topics.keys)}")
      end
    end
  end
end
