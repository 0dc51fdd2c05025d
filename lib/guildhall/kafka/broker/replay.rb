# frozen_string_literal: true

require_relative "../producer"
require_relative "dead_letters"

module Guildhall
  module Kafka
    module Broker
      # Sends dead letters back to where they came from: their bytes, key and headers, to the partition they had. A chunk is
      # produced, waited for, and only then marked as replayed ({LetterMarks}), each letter by itself: whatever happens in between,
      # nothing is passed over, and at most one chunk is replayed twice. The dead letters stay where they are.
      class Replay
        CHUNK_SIZE = 100
        # librdkafka's default of five minutes is too long to learn that a topic cannot be written to.
        SETTINGS = {"enable.idempotence": true, "linger.ms": 5, "message.timeout.ms": 30_000}.freeze
        FULL_SECONDS = 30 # that it waits for room in the producer's queue: about as long as a message may take
        private_constant :SETTINGS, :FULL_SECONDS

        # The progress in one partition.
        class Outcome
          # @return [Integer] a partition; how many of its dead letters were replayed; how many were left out, by the filter or because of
          #   their marks; how many of those that were replayed are not marked at the broker
          attr_reader :partition, :replayed, :skipped, :unnoted
          # @return [Integer, nil] the offset of the first, of the last that was replayed; nil where none was
          attr_reader :first, :last

          def initialize(partition)
            @partition = partition
            @replayed = @skipped = @unnoted = 0
          end

          # One more was replayed.
          def count(offset)
            @replayed += 1
            @unnoted += 1
            @first ||= offset
            @last = offset
          end

          # All that were replayed are marked now.
          def noted = @unnoted = 0
          def skip(number) = @skipped += number
        end

        # @param to [String, nil] another topic for all of them, whose partitioner decides; nil: where each came from
        # @param except [Array<Symbol>] the marks of those that are left out: see {LetterMarks#of}
        # @param again [Boolean] whether all that was replayed counts as not replayed before it begins
        # @yieldparam dead_letter [DeadLetter] which to replay; without a block: all
        # @raise [Guildhall::ArgumentError] where there is no topic `to`
        def initialize(dead_letters, config, to: nil, except: [], again: false, &filter)
          @dead_letters = dead_letters
          @config = config
          @to = to
          @except = except
          @again = again
          @filter = filter
          @interrupted = false
          @partitions = {}
          check_target(to, "there is no topic #{to}") if to
        end

        # Ends it after the chunk at hand. May be called by any thread, and by a trap.
        def interrupt = @interrupted = true
        def interrupted? = @interrupted

        # Blocks until all are replayed, or it is interrupted.
        # @yieldparam outcome [Outcome] when a partition begins, and after each chunk
        # @return [Array<Outcome>] of the partitions that it came to
        # @raise [ReplayError] where a dead letter cannot be replayed; those before it are, and are noted
        # @raise [KafkaError] where it cannot be noted what was replayed: before anything is sent, if the right to is missing
        def run(ranges)
          @marks = @dead_letters.marks(ranges.keys)
          @to_reopen = @again ? ranges.transform_values(&:begin) : {} # with the first that is marked: until then nothing is changed
          check_right(ranges)
          @producer = Producer.new(Producing::Settings.of(@config).merge(SETTINGS))
          ranges.each_with_object([]) do |(partition, range), outcomes|
            break outcomes if @interrupted

            outcomes << Outcome.new(partition)
            yield outcomes.last if block_given?
            from = range.begin
            @dead_letters.to_enum(:each, partition, range).each_slice(CHUNK_SIZE) do |chunk|
              send_back(LetterMarks.spans(chunk, from), outcomes.last)
              from = chunk.last.offset + 1
              yield outcomes.last if block_given?
              break if @interrupted
            end
          end
        ensure
          @producer&.close
        end

        private

        # Commits the marks that there are: that needs the same right, so a missing right shows before anything is sent.
        def check_right(ranges)
          partition, = ranges.find { |_, some| some.any? }
          @dead_letters.keep(partition) { nil } if partition
        end

        # Counts in order: where one cannot be replayed, those behind it count as not replayed, although they may have arrived.
        # @param chunk [Array<Array(DeadLetter, Range<Integer>)>] see {LetterMarks.spans}
        def send_back(chunk, outcome)
          marks = @marks[outcome.partition]
          chosen = chunk.select { |letter, _| !@except.include?(marks.of(letter.offset)) && (@filter.nil? || @filter.call(letter)) }
          outcome.skip(chunk.size - chosen.size)
          replayed = []
          produce_all(chosen.map(&:first)) do |letter|
            outcome.count(letter.offset)
            replayed << chosen[replayed.size].last
          end
        ensure
          if replayed&.any?
            note(outcome.partition, replayed)
            outcome.noted
          end
        end

        def note(partition, replayed)
          @marks[partition] = @dead_letters.keep(partition) do |marks|
            @to_reopen.delete(partition)&.then { |first| marks.reopen(first) }
            replayed.each { |span| marks.replayed(span) }
          end
        end

        # Waits also for messages that were produced before one could not be: they may have arrived, and count as replayed.
        def produce_all(dead_letters)
          handles = []
          failure = nil
          begin
            dead_letters.each { |dead_letter| handles << [dead_letter, *produce(dead_letter)] }
          rescue Guildhall::Error => error
            failure = error
          end
          handles.each { |dead_letter, topic, handle| wait(dead_letter, topic, handle) && yield(dead_letter) }
          raise failure if failure
        end

        # @return [Array] the topic that it is sent to, and its handle
        def produce(dead_letter)
          topic = @to || dead_letter.source_topic or raise ReplayError, "#{dead_letter} names no source topic: name one (to)"
          unless @to
            partitions = check_target(topic, "#{dead_letter} came from #{topic}, which is gone: name another topic (to)")
            partition = dead_letter.source_partition if dead_letter.source_partition&.<(partitions)
          end
          [topic, @producer.start({topic:, partition:, key: dead_letter.key, payload: dead_letter.payload,
                                   headers: dead_letter.original_headers}, FULL_SECONDS)]
        rescue ProduceError => error
          refused(dead_letter, topic, error)
        end

        def wait(dead_letter, topic, handle)
          handle.wait(max_wait_timeout_ms: SETTINGS[:"message.timeout.ms"] + 10_000)
        rescue ProduceError, TimeoutError => error
          refused(dead_letter, topic, error)
        end

        def refused(dead_letter, topic, error)
          raise ReplayError, "#{dead_letter} was not replayed to topic #{topic}: #{ProduceError.reason_of(error)}"
        end

        # @return [Integer] how many partitions the topic has
        def check_target(topic, complaint)
          raise Guildhall::ArgumentError, "a dead letter topic cannot be replayed to itself" if topic == @dead_letters.name

          @partitions[topic] ||= @dead_letters.partition_count_of(topic)
        rescue UnknownTopicError => error
          raise Guildhall::ArgumentError, "#{complaint}#{error.suggestion}"
        end
      end
    end
  end
end
