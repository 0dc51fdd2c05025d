# frozen_string_literal: true

require_relative "../producing/delivery"
require_relative "dead_letters"

module Guildhall
  module Kafka
    module Broker
      # Goes through dead letters, a chunk after the other, and marks those that are chosen, each chunk in one change ({LetterChanges}): it
      # may end after any of them, and go on there. The base of {Replay} and {Discard}. The dead letters stay where they are.
      class LetterRun
        # @api private
        CHUNK_SIZE = 100

        # The progress in one partition.
        class Outcome
          # @return [Integer] a partition; how many of its dead letters were replayed, or discarded; how many were left out, by the
          #   filter or because of their marks
          attr_reader :partition, :done, :skipped
          # @return [Integer] how many of those were left out because no header says where they came from
          attr_reader :homeless
          # @return [Integer, nil] the offset of the first, of the last that was; nil where none was
          attr_reader :first, :last

          def initialize(partition)
            @partition = partition
            @done = @skipped = @homeless = 0
          end

          def count(offsets)
            @done += offsets.size
            @first ||= offsets.first
            @last = offsets.last || @last
          end

          def skip(number, homeless: 0)
            @skipped += number
            @homeless += homeless
          end
        end

        # @param except [Array<Symbol>] the marks of those that are left out: see {LetterMarks#of}
        # @param before [#call, nil] called with the {LetterChanges} and how many are chosen, within each change: what it raises leaves all
        #   as it was, and ends the run
        # @yieldparam dead_letter [DeadLetter] which to choose; without a block: all
        def initialize(dead_letters, except: [], before: nil, &filter)
          @dead_letters = dead_letters
          @except = except
          @before = before
          @filter = filter
          @interrupted = false
        end

        # Ends it after the chunk at hand. May be called by any thread, and by a trap.
        def interrupt = @interrupted = true
        def interrupted? = @interrupted

        # Blocks until all are done, or it is interrupted.
        # @param ranges [Hash{Integer=>Range<Integer>}] of offsets, without their ends, by partition
        # @yieldparam outcome [Outcome] when a partition begins, and after each chunk
        # @return [Array<Outcome>] of the partitions that it came to
        # @raise [ReplayError] where a dead letter cannot be replayed, or marked; those before it are
        # @raise [KafkaError, TransactionError]
        def run(ranges)
          begin_run(ranges)
          ranges.each_with_object([]) do |(partition, range), outcomes|
            break outcomes if @interrupted

            outcomes << Outcome.new(partition)
            yield outcomes.last if block_given?
            from = range.begin
            @dead_letters.to_enum(:each, partition, range).each_slice(CHUNK_SIZE) do |chunk|
              take(LetterMarks.spans(chunk, from), outcomes.last)
              from = chunk.last.offset + 1
              yield outcomes.last if block_given?
              break if @interrupted
            end
          end
        end

        private

        def begin_run(_ranges) = nil

        # @param chunk [Array<Array(DeadLetter, Range<Integer>)>] see {LetterMarks.spans}
        def take(chunk, outcome)
          wanted = @filter ? chunk.select { |letter, _| @filter.call(letter) } : chunk
          chosen, homeless = wanted.any? ? change(outcome.partition, wanted) : [[], []]
          outcome.skip(chunk.size - chosen.size, homeless: homeless.size)
          outcome.count(chosen.map { |letter, _| letter.offset })
        end

        # @return [Boolean] whether there is somewhere to send it
        def home?(_letter) = true

        # @return [Array(Array, Array)] those that are marked now, and those that would be, had they a home
        def change(partition, wanted)
          @dead_letters.changes.run do |changes|
            marks = changes.marks(partition)
            left = wanted.reject { |letter, _| @except.include?(marks.of(letter.offset)) }
            chosen, homeless = left.partition { |letter, _| home?(letter) }
            @before&.call(changes, chosen.size)
            next [chosen, homeless] if chosen.empty?

            mark(changes, partition, marks, chosen)
            changes.keep(partition, marks)
            [chosen, homeless]
          end
        end
      end

      # Marks dead letters that are not marked as discarded: they are not replayed unless they are named.
      class Discard < LetterRun
        def initialize(dead_letters, **, &) = super(dead_letters, except: LetterMarks::MARKS, **, &)

        private

        def mark(_changes, _partition, marks, chosen) = chosen.each { |_, span| marks.discarded(span) }
      end

      # Sends dead letters back to where they came from: their bytes, key and headers, to the partition they had. A chunk is sent and marked
      # as replayed together: whoever reads what is committed gets each once, whatever happens. Those whose headers do not say where they
      # came from, as other tools write them, stay as they are, unless a topic is named for all.
      class Replay < LetterRun
        # One letter of a chunk that cannot be replayed. Its cause says why.
        class Refusal < StandardError
          include Error

          attr_reader :letter

          def initialize(letter)
            super()
            @letter = letter
          end
        end
        private_constant :Refusal

        # @param to [String, nil] another topic for all of them, whose partitioner decides; nil: where each came from
        # @param again [Boolean] whether all that was replayed counts as not replayed before it begins
        # @raise [Guildhall::ArgumentError] where there is no topic `to`
        def initialize(dead_letters, to: nil, again: false, **, &)
          super(dead_letters, **, &)
          @to = to
          @again = again
          @partitions = {}
          check_target(to, "there is no topic #{to}") if to
        end

        private

        def home?(letter) = !(@to || letter.source_topic).nil?

        # With the first that is marked: until then nothing is changed.
        def begin_run(ranges) = @to_reopen = @again ? ranges.transform_values(&:begin) : {}

        # One that cannot be replayed keeps none before it from being so.
        def change(partition, wanted)
          super.tap { |chosen, _| @to_reopen.delete(partition) if chosen.any? }
        rescue Refusal => error
          before = wanted.take_while { |letter, _| letter.offset < error.letter.offset }
          super(partition, before) if before.any?
          raise error.cause
        end

        def mark(changes, partition, marks, chosen)
          @to_reopen[partition]&.then { |first| marks.reopen(first) }
          targets = chosen.map { |letter, _| of(letter) { [letter, *target(letter)] } }
          sent = targets.map { |letter, *target| of(letter) { [letter, target.first, produce(changes, letter, *target)] } }
          sent.each { |letter, topic, handle| of(letter) { wait(letter, topic, handle) } }
          chosen.each { |_, span| marks.replayed(span) }
        end

        def of(letter)
          yield
        rescue Guildhall::Error => error
          raise if LetterChanges.overtaken?(error) # which says nothing of the letter

          raise Refusal, letter
        end

        # @return [Array(String, Integer | nil)] topic and partition; nil: the topic's partitioner decides
        def target(dead_letter)
          headers = DeadLetterQueue::DeadLetterHeaders
          NewerFormatError.check!("#{dead_letter}: what its headers say", headers.version(dead_letter.headers), headers::VERSION)
          return [@to] if @to

          topic = dead_letter.source_topic
          partitions = check_target(topic, "#{dead_letter} came from #{topic}, which is gone: name another topic (to)")
          [topic, (dead_letter.source_partition if dead_letter.source_partition&.<(partitions))]
        end

        def produce(changes, dead_letter, topic, partition = nil)
          changes.start({topic:, partition:, key: dead_letter.key, payload: dead_letter.payload, headers: dead_letter.original_headers})
        rescue ProduceError => error
          refused(dead_letter, topic, error)
        end

        def wait(dead_letter, topic, handle)
          handle.wait(max_wait_timeout_ms: LetterChanges::FULL_SECONDS * 1_000)
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
