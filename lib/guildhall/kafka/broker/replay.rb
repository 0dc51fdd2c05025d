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
          attr_reader :without_source
          # @return [Integer, nil] the offset of the first, of the last that was; nil where none was
          attr_reader :first, :last

          def initialize(partition)
            @partition = partition
            @done = @skipped = @without_source = 0
          end

          # @param size [Integer] of the chunk
          # @param choice [Choice] what of it was chosen
          def add(size, choice)
            offsets = choice.letters.map { |letter, _| letter.offset }
            @done += offsets.size
            @first ||= offsets.first
            @last = offsets.last || @last
            @skipped += size - offsets.size
            @without_source += choice.without_source
          end
        end

        # Of some letters those that are to be marked, each with its {LetterMarks.spans}; without_source: how many more there would be, did
        # a header say where they came from.
        Choice = Data.define(:letters, :without_source)
        private_constant :Choice

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
        def run(ranges, &told)
          begin_run(ranges)
          each_chunk(ranges, told) { |partition, wanted| change(partition, wanted) }
        end

        # What {#run} would come to if it began now. Nothing is changed. Blocks until all were looked at.
        # @param ranges [Hash{Integer=>Range<Integer>}] as for {#run}
        # @return [Array<Outcome>]
        # @raise [KafkaError]
        def dry_run(ranges)
          marks = @dead_letters.marks(ranges.keys)
          each_chunk(ranges) { |partition, wanted| choose(wanted, marks.fetch(partition)) }
        end

        private

        def begin_run(_ranges) = nil

        # @param told [#call] of the outcome
        # @yieldparam partition [Integer]
        # @yieldparam wanted [Array<Array(DeadLetter, Range<Integer>)>] those of a chunk that pass the filter: see {LetterMarks.spans}
        # @yieldreturn [Choice]
        def each_chunk(ranges, told = nil)
          ranges.each_with_object([]) do |(partition, range), outcomes|
            break outcomes if @interrupted

            outcomes << outcome = Outcome.new(partition)
            told&.call(outcome)
            from = range.begin
            @dead_letters.to_enum(:each, partition, range).each_slice(CHUNK_SIZE) do |chunk|
              wanted = LetterMarks.spans(chunk, from).select { |letter, _| @filter.nil? || @filter.call(letter) }
              outcome.add(chunk.size, wanted.any? ? yield(partition, wanted) : Choice.new(letters: [], without_source: 0))
              from = chunk.last.offset + 1
              told&.call(outcome)
              break if @interrupted
            end
          end
        end

        # @return [Choice]
        def choose(wanted, marks)
          left = wanted.reject { |letter, _| @except.include?(marks.of(letter.offset)) }
          letters = left.select { |letter, _| possible?(letter) }
          Choice.new(letters:, without_source: left.size - letters.size)
        end

        # @return [Boolean] whether there is a topic to send it to, where it is to be sent
        def possible?(_letter) = true

        # @return [Choice] those that are marked now
        def change(partition, wanted)
          @dead_letters.changes.run do |changes|
            marks = changes.marks(partition)
            choice = choose(wanted, marks)
            @before&.call(changes, choice.letters.size)
            next choice if choice.letters.empty?

            mark(changes, partition, marks, choice.letters)
            changes.keep(partition, marks)
            choice
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

        def possible?(letter) = !letter.replay_topic(@to).nil?

        # With the first that is marked: until then nothing is changed.
        def begin_run(ranges) = @to_reopen = @again ? ranges.transform_values(&:begin) : {}

        # One that cannot be replayed keeps none before it from being so.
        def change(partition, wanted)
          super.tap { |choice| @to_reopen.delete(partition) if choice.letters.any? }
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
          topic = dead_letter.replay_topic(@to)
          return [topic] if @to

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
