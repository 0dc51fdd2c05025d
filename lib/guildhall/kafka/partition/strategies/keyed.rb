# frozen_string_literal: true

require_relative "../key_retries"
require_relative "virtual"

module Guildhall
  module Kafka
    class Partition
      # The strategy of `ordering :key`: virtual partitions in which each key is on its own, and `consume` is called with the messages of
      # one key. Where it raises, that key is parked: {KeyRetries} tries it again, its further messages are held behind it, and the batch
      # goes on without it. Where too much is parked, the partition rests.
      class Keyed < Virtual
        # What one virtual partition gets of a batch: its keys, one after the other. A runner runs it.
        class KeyedUnit
          # @param keys [Array<Array(Object, Array<Integer>)>] each with the indexes of its messages
          def initialize(work, call, keys, runners)
            @work = work
            @call = call
            @keys = keys
            @runners = runners
          end

          def run
            while (key, indexes = @keys.shift)
              @work.consume(@call, key, indexes)
            end
          ensure
            @keys.empty? ? @work.unit_ended : @runners.push(self) # a consumer has ended this thread
          end
        end

        # A batch in work, of which each key that fails is parked.
        class KeyedWork < Work
          # @see Partition::Work
          def initialize(run, messages, partition, retries)
            super(run, messages, partition)
            @retries = retries
            @reports = partition.reports
          end

          def parking? = true

          # @param indexes [Array<Integer>] of the key's messages
          def consume(call, key, indexes)
            return if @partition.void?(batch.generation)

            call.consume(batch.messages(indexes, call)) { |result| settle_key(result, key, indexes) }
          end

          private

          def settle_key(result, key, indexes)
            return settle(result) if result.whole

            result.error ? park_failed(result, key, indexes) : park_left(key, indexes)
          end

          def park_failed(result, key, indexes)
            @reports.consume_failed(result.error, result.messages, 1)
          ensure # a subscriber may end this thread, here and below
            park(key, indexes) { |entry, _| @retries.failed(entry, result.error, result.messages) }
          end

          # `consume` was left before its end.
          def park_left(key, indexes)
            park(key, indexes) { |entry, left| left.size < indexes.size ? @retries.keys.due(entry) : @retries.postpone(entry) }
          end

          def park(key, indexes)
            return if @partition.void?(batch.generation)

            left = @progress.not_done(batch, indexes)
            @retries.park(key, batch, left) { |entry| yield(entry, left) } if left&.any?
          end
        end

        def initialize(partition, consumers)
          super
          @reports = partition.reports
          @inbox = partition.inbox
          @retries = KeyRetries.new(partition, consumers)
          @runners = partition.runtime.runners
          @inbox.key_retries = @retries
        end

        # (see Run#blocked)
        def blocked = @retries.blocked

        def parked_keys = @retries.keys

        # (see Virtual#leave)
        def leave = @retries.keys.close

        # (see Virtual#work)
        def work(batch, indexes, run)
          @retries.keys.renew(batch.generation)
          return if rest?(batch)

          messages = batch.messages(indexes)
          calls = assign(messages, indexes, run)
          return unless run.begins?(batch)

          work = KeyedWork.new(run, messages, @partition, @retries)
          units = deal(calls, batch).map { |call, keys| KeyedUnit.new(work, call, keys, @runners) }
          -> { work.start(units) }
        end

        private

        # @return [Array<Array(ConsumerCall, Object, Array<Integer>)>] who gets each key, and the indexes of its messages
        def assign(messages, indexes, run)
          keys = @partitioner.keys(messages, indexes, @retries.keys.to_a) { |error, message| run.partitioner_failed(error, message) }
          keys.map do |key, own|
            number = @partitioner.number_of(key) { |error| run.partitioner_failed(error, messages.batch.messages(own).first) }
            [@consumers.at(number), key, own]
          end
        end

        # @return [Hash{ConsumerCall=>Array}] keys, and the indexes of their messages, without those that are parked
        def deal(calls, batch)
          calls.reject { |_, key, own| @retries.keys.hold(key, batch, own) }
            .group_by(&:first).transform_values { |keys| keys.map { |_, *key| key } }
        end

        # Whether too much is parked, so that the partition pauses. A key may make progress just before the pause begins: then only
        # this method can end the pause.
        def rest?(batch)
          return false unless @retries.full?
          return true unless @inbox.pause_for(batch, :keys)

          keys, messages = @retries.keys.counts
          @inbox.resume(:keys) unless @retries.full?
          @reports.publish("key.limit_reached", keys:, messages:)
          true
        end
      end
    end
  end
end
