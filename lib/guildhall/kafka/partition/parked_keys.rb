# frozen_string_literal: true

require "guildhall/clock"
require_relative "../messages/batch"
require_relative "attempts"

module Guildhall
  module Kafka
    class Partition
      # The parked keys of one partition: a message of each has failed, and what follows with the same key is held behind it. Bounded
      # by {#full?}. May be used by any thread; a message is tried by one thread at a time.
      # @api private
      class ParkedKeys
        # A message, and the offset of the one after it, of whatever key.
        Held = Data.define(:record, :next_offset)

        # What {Snapshot} has of one key. key: its name; offset, time: of its first message; messages: how many wait; due_at: when that is
        # tried, by the {Clock}; past: it is being tried, or waits for a runner or for its dead letter; attempts: {Attempts} at that one.
        View = Data.define(:key, :offset, :time, :messages, :due_at, :attempts)

        # One key: its messages, in order, the attempts at the first, and when the next one is due, with its alarm.
        Entry = Struct.new(:key, :generation, :held, :attempts, :due_at, :alarm) do
          # @return [Record, nil] what is tried next; nil: the key is not parked any more
          def record = held.first&.record

          # @return [Array(Integer, Integer), nil] as {Attempts#at}
          def at = record && [generation, record.offset]

          # @return [String, nil] for people
          def name
            key.to_s unless key.is_a?(Partitioner::Keyless)
          rescue StandardError, ScriptError
            key.class.to_s
          end
        end

        # Keys are compared by identity: those of {Partitioner#keys}.
        # @yield called by the timer when a key is due
        def initialize(partition, &on_due)
          @partition = partition
          @topic = partition.topic
          @config = partition.runtime.config
          @timer = partition.runtime.timer
          @on_due = on_due
          @lock = Mutex.new
          @generation = 0
          empty
        end

        # Holds messages behind those that wait with the same key.
        # @return [Boolean] false: that key is not parked
        def hold(key, batch, indexes)
          @lock.synchronize { (entry = @entries[key]) ? add(entry, batch, indexes) : false }
        end

        # @param key [Object] that is not parked
        def park(key, batch, indexes)
          entry = Entry.new(key, batch.generation, [])
          entry.attempts = Attempts.new(@partition) { |seconds| wait(entry, seconds) }
          @lock.synchronize do
            @entries[key] = entry if batch.generation == @generation
            add(entry, batch, indexes)
          end
          entry.attempts.at = entry.at
          entry
        end

        # @param seconds [Numeric] until its next attempt, which takes the place of one that was planned before
        def wait(entry, seconds)
          @timer.cancel(entry.alarm)
          entry.due_at = Clock.now + seconds
          entry.alarm = @timer.after(seconds) { due(entry) }
        end

        # Its next attempt is to be made.
        def due(entry)
          @on_due.call if @lock.synchronize { @due.add(entry) if @entries[entry.key].equal?(entry) }
        end

        # The next attempt of each key that waits for one is to be made. Others are tried already, or wait for their dead letter.
        # @return [Integer] how many have waited
        def hurry
          now = Clock.now
          waiting = @lock.synchronize do
            @entries.each_value.select { |entry| entry.due_at&.>(now) }.each { |entry| entry.due_at = now }
          end
          waiting.each do |entry|
            @timer.cancel(entry.alarm)
            due(entry)
          end.size
        end

        def due? = @lock.synchronize { @due.any? }

        # @return [Entry, nil] the key that has been due for longest
        def take = @lock.synchronize { @due.first&.tap { |entry| @due.delete(entry) } }

        # Lets go of its first messages that are done; without any left the key is not parked any more.
        # @yieldreturn [Boolean] whether it is done
        # @return [Symbol] :resumed, :moved, :unchanged, or :void where a seek has made them void
        def pass(entry)
          @lock.synchronize do
            next :void unless @entries[entry.key].equal?(entry)

            count = entry.held.take_while { |held| yield(held.record.offset) }.size
            remove(entry.held.shift(count))
            next count.zero? ? :unchanged : :moved if entry.held.any?

            @entries.delete(entry.key)
            @due.delete(entry)
            :resumed
          end
        end

        def held(entry) = @lock.synchronize { entry.held.dup }

        # Forgets the keys of older generations: a seek has made their messages void.
        # @param generation [Integer] that of what may be handled now; an older one, of a thread that comes late, changes nothing
        def renew(generation)
          alarms = @lock.synchronize do
            next [] unless generation > @generation

            @generation = generation
            @entries.each_value.filter_map(&:alarm).tap { empty }
          end
          alarms.each { |alarm| @timer.cancel(alarm) }
        end

        # Forgets all keys, and takes none any more: the partition is given up.
        def close = renew(Float::INFINITY)

        # @return [Boolean] whether no more are to be parked
        def full?
          limits = @topic.ordering
          @lock.synchronize do
            @entries.size >= limits.max_parked_keys || @messages >= limits.max_parked_messages ||
              @bytes >= (@topic.max_bytes || @config.max_bytes) * Backlog::AHEAD
          end
        end

        # @return [Array<Object>] the keys themselves
        def to_a = @lock.synchronize { @entries.keys }

        # @return [Array(Integer, Integer)] keys, and messages
        def counts = @lock.synchronize { [@entries.size, @messages] }

        # @param limit [Integer] how many keys at most, those that have waited for longest
        # @return [Array<View>] outside of the lock the keys, which are the application's objects, are asked for their names
        def views(limit)
          found = @lock.synchronize do
            @entries.each_value.min_by(limit) { |entry| entry.record.offset }.map { |entry| [entry, entry.record, entry.held.size] }
          end
          found.map do |entry, record, messages|
            View.new(key: entry.name, offset: record.offset, time: record.timestamp, messages:, due_at: entry.due_at,
              attempts: entry.attempts)
          end
        end

        # @return [Time, nil] when the oldest of their messages was written
        def oldest_time = @lock.synchronize { @entries.each_value.map(&:record).min_by(&:offset)&.timestamp }

        private

        def empty
          @entries = {}.compare_by_identity
          @due = Set.new.compare_by_identity
          @messages = @bytes = 0
        end

        def add(entry, batch, indexes)
          more = indexes.map { |index| Held.new(batch.records[index], batch.next_offset(index)) }
          entry.held.concat(more)
          return true unless @entries[entry.key].equal?(entry)

          @messages += more.size
          @bytes += bytes(more)
          true
        end

        def remove(held)
          @messages -= held.size
          @bytes -= bytes(held)
        end

        def bytes(held) = held.empty? ? 0 : held.first.record.class.bytes(held.map(&:record))
      end
    end
  end
end
