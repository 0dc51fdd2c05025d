# frozen_string_literal: true

require "guildhall/clock"
require_relative "done_ranges"
require_relative "offset_store"
require_relative "done_offsets"

module Guildhall
  module Kafka
    class Partition
      # Which messages of one partition are done, and which offset is to be committed. The only place that stores offsets. Any thread.
      #
      # Each seek begins a new *generation*. Marks, and ends of `consume`, that concern messages of an older generation are
      # refused: these messages will be read again.
      #
      # With manual offset management a message may be done (its `consume` has returned) although it is not marked: its
      # offset is not stored, and it is consumed again only where a later batch fails ({#forget_unmarked}).
      # @api private
      class Progress
        # @return [Float] of the {Clock}: when a message was last marked, or its `consume` returned
        attr_reader :progressed_at
        # @return [Integer, nil] the offset of the message that is to be read next; nil before the first, unless it was found out
        attr_accessor :read_to
        # @return [Integer] the generation of what may be marked now
        attr_reader :generation

        # @param manual [Boolean] whether what is done is stored only when it was marked as well
        # @param parking [Boolean] whether messages of a batch may be done after those of later batches
        def initialize(store, manual: false, parking: false)
          @store = store
          @manual = manual
          @parking = parking
          @lock = Mutex.new
          @generation = @reading = 0
          @read_to = nil
          @dirty = @closed = @uncommitted = @suspended = false
          @progressed_at = -Float::INFINITY
          begin_progress
        end

        # Whether a seek has made the messages of a generation void.
        def void?(generation) = generation < @generation

        # @return [Integer, nil] the first offset that is neither marked nor covered by a completed `consume`; nil: nothing was begun yet
        def next = @lock.synchronize { @done.position }

        # @return [Integer, nil] the first offset that is not to be committed as done
        def commit_position = @lock.synchronize { @marked.position }

        # What {Snapshot} has of it, of one moment: position: {#next}; committed: {#commit_position}; ranges: what is done behind that.
        View = Data.define(:position, :committed, :ranges)

        # @return [View]
        def view
          @lock.synchronize { View.new(position: @done.position, committed: @marked.position, ranges: @marked.beyond.dup.freeze) }
        end

        # What the group has committed behind its offset is not done again. Blocks for the broker's answer; before the first batch.
        def recall
          offset, metadata = @store.committed
          known = offset ? DoneRanges.load(offset, metadata) : []
          @lock.synchronize do
            next if known.empty? || @generation.positive?

            known.each { |range| add(range.begin, range.end) }
            @recalled = offset
          end
        end

        # A batch gets its turn; called again before each further attempt.
        # @return [Array<Integer>, nil] the indexes of its messages that are not done; nil: a seek has made it void
        def pending(batch)
          kept = batch.kept
          @lock.synchronize do
            next if batch.generation < @generation

            renew(batch.generation) if batch.generation > @generation
            begin_batch(batch, kept) unless batch.end_offset == @entered
            undone(batch, kept)
          end
        end

        # @return [Array<Integer>, nil] which messages of a batch that has had its turn are not done; nil: they are void
        def not_done(batch, indexes)
          @lock.synchronize { undone(batch, indexes) unless @closed || batch.generation != @generation }
        end

        def done?(offset) = @lock.synchronize { @done.done?(offset) }

        # Whether all that is done can be written beside the offset.
        def fit? = @lock.synchronize { DoneRanges.fit?(@marked.position, @marked.beyond, @metadata) }

        # @return [Integer] how many offsets behind {#commit_position} are done
        def size_beyond = @lock.synchronize { @marked.size_beyond }

        # (see Consumer#offset_metadata)
        def metadata = @lock.synchronize { @metadata } || DoneRanges.text(@store.committed.last)

        # Everything before an offset is done, and may be committed.
        # @param metadata [String, nil] kept beside the offset by the broker
        # @return [Boolean] false when the partition is no longer ours, or a seek has made the messages void, here and in what follows
        def mark(next_offset, generation, metadata = nil)
          update(generation, metadata) do
            @done.advance(next_offset) if @manual
            @marked.advance(next_offset)
          end
        end

        # Single messages are done, whatever lies before them: what virtual partitions have marked, and what went to the dead letters.
        # @yieldreturn [Array<Array(Integer, Integer)>] each message's offset, and that of the message after it
        def mark_each(generation, metadata = nil)
          update(generation, metadata) { yield.inject(false) { |news, (offset, next_offset)| add(offset, next_offset) || news } }
        end

        # `consume` has returned for everything before an offset.
        def complete(next_offset, generation) = update(generation) { @done.advance(next_offset) && !@manual }

        # `consume` has returned for single messages: those that the block returns, as for {#mark_each}.
        def complete_each(generation)
          update(generation) { yield.inject(false) { |news, (offset, next_offset)| @done.add(offset, next_offset) || news } && !@manual }
        end

        # Commits an offset before what lies before it is done, for delivery at most once. Blocks for the broker's answer.
        def commit_ahead(next_offset, generation) = update(generation) { @marked.advance(next_offset) } && commit

        # Hands over to librdkafka what is to be committed next; {#commit} commits it, and blocks for the broker's answer.
        def store = @lock.synchronize { write }
        def commit = store && @store.commit

        # Nothing is stored until {#resume_storing}, and what was is committed: an offset that is committed beside that of a transaction
        # could take its place. Blocks for the broker's answer where something was stored.
        def suspend_storing
          @lock.synchronize do
            write
            @suspended = true
          end
          return !@closed unless @uncommitted && !@closed

          @store.commit.tap { |committed| @uncommitted = false if committed }
        end

        def resume_storing = @suspended = false

        # @return [Array(Integer, String), nil] what to commit if everything before an offset were done; nil as {#mark} is false
        def offset_if_done_to(next_offset, generation, metadata = nil)
          @lock.synchronize do
            next if @closed || generation != @generation

            marked = @marked.dup
            marked.advance(next_offset)
            offset_of(marked, metadata)
          end
        end

        # As {#mark}, where a transaction has committed it.
        def committed_to(next_offset, generation, metadata = nil)
          dirty = @dirty
          mark(next_offset, generation, metadata).tap { @lock.synchronize { @dirty = dirty } }
        end

        # Messages were read, from one offset to before another. Where they lie before what was read last, without a request for it (the
        # topic was recreated, say), they are of a new generation. By the listener, which gets their generation.
        def read(first, next_offset)
          @lock.synchronize do
            @reading += 1 if @read_to && first < @read_to
            @read_to = next_offset
            @reading
          end
        end

        # @return [Integer, nil] the first offset that is not marked, where that is one of an earlier batch; else nil
        def unmarked_before(batch)
          @lock.synchronize do
            position = @marked.position
            position if @manual && batch.generation == @generation && position && position < batch.first_offset
          end
        end

        # What is not marked is not done either, and will be read again.
        def forget_unmarked
          @lock.synchronize do
            @done = @marked.dup
            @entered = nil
          end
        end

        # What was read until now is void. Returns the generation of what is read from now on, which may lie before it.
        # @param from [Integer, nil] the position that it must have, where it has one; nil: any
        # @raise [SeekError] where it has another
        def rewind(from = nil)
          @lock.synchronize do
            position = @done.position || from
            raise SeekError, "the position is #{position} by now, not #{from}" unless from.nil? || position == from

            renew(@reading += 1)
          end
        end

        # What a generation reads begins there: that is committed although nothing of it is done yet. Else a seek would be
        # forgotten where the partition is given up before the first message has come.
        def begin_at(offset, generation = @generation)
          update(generation) { [@done, @marked].each { |progress| progress.advance(offset) } unless @done.position }
        end

        # Nothing is stored from now on.
        def close(dismiss: false)
          @lock.synchronize do
            next if @closed

            dismiss ? @store.dismiss : write
            @closed = true
          end
        end

        def closed? = @closed

        private

        def begin_progress
          @done = DoneOffsets.new
          @marked = @manual ? DoneOffsets.new : @done
          @entered = @metadata = @recalled = nil
        end

        def renew(generation)
          write
          @dirty = false
          begin_progress
          @store.rewind
          @generation = generation
        end

        def update(generation, metadata = nil)
          @lock.synchronize do
            next false if @closed || generation != @generation

            before = @marked.position
            @progressed_at = Clock.now
            @dirty = true if yield || metadata
            @metadata = metadata if metadata || @marked.position != before
            true
          end
        end

        def add(offset, next_offset)
          @done.add(offset, next_offset) if @manual
          @marked.add(offset, next_offset)
        end

        def write
          return !@closed unless @dirty && @marked.position && !@closed && !@suspended

          @dirty = false
          @uncommitted = true
          @store.write(*offset_of(@marked, @metadata))
        end

        def offset_of(marked, metadata) = [marked.position, DoneRanges.dump(marked.position, marked.beyond, metadata)]

        # Batches are done one after the other: everything before this one is, and with it what was left out at its
        # beginning. With manual marks only where nothing before it waits to be marked. Where the first one begins is committed although
        # nothing of it is done yet: else a group that has committed nothing would begin elsewhere the next time.
        def begin_batch(batch, kept)
          begin_progress if @recalled && batch.first_offset < @recalled # what was committed is not of this log
          first = kept.empty? ? batch.end_offset : batch.records[kept.first].offset
          before = @marked.position
          skip_to(first)
          add_known_of(batch, kept) if @done.reach > first
          @dirty = true if before.nil? || (kept.empty? && @marked.position != before)
          @entered = batch.end_offset
          @recalled = nil
        end

        # What lies between the last batch and this one is done, and all before it, unless messages of that are parked.
        def skip_to(first)
          if @parking && @entered
            @done.add(@entered, first) if first > @entered
          else
            @marked.advance(first) if @marked.position.nil? || @entered.nil? || @marked.position >= @entered
            @done.advance(first)
          end
        end

        # What was done before a restart and lies in this batch: what lies between each message and the one after it is done as well. A
        # range ends with the last message that was known then.
        def add_known_of(batch, kept)
          @dirty = true if (kept - undone(batch, kept)).each { |index| add(batch.records[index].offset, batch.next_offset(index)) }.any?
        end

        def undone(batch, indexes)
          records = batch.records
          return indexes.reject { |index| @done.done?(records[index].offset) } unless @done.contiguous?

          first = indexes.bsearch_index { |index| records[index].offset >= @done.position }
          first ? indexes.drop(first) : []
        end
      end
    end
  end
end
