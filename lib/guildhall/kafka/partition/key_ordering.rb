# frozen_string_literal: true

require_relative "key_retries"
require_relative "virtual_partitions"

module Guildhall
  module Kafka
    class Partition
      # Virtual partitions in which each key is on its own: `consume` is called with the messages of one key. Where it raises, that key
      # is parked: {KeyRetries} tries it again, its further messages are held behind it, and the batch goes on without it. Where too
      # much is parked, the partition rests.
      class KeyOrdering < VirtualPartitions
        # What one virtual partition gets of a batch: its keys, one after the other. A runner runs it.
        class Share
          # @param keys [Array<Array(Object, Array<Integer>)>] each with the indexes of its messages
          def initialize(shares, call, keys, runners)
            @shares = shares
            @call = call
            @keys = keys
            @runners = runners
          end

          def run
            while (key, indexes = @keys.shift)
              @shares.consume(@call, key, indexes)
            end
          ensure
            @keys.empty? ? @shares.ended : @runners.push(self) # a consumer has ended this thread
          end
        end

        # One batch while its shares run.
        class KeyedShares < Shares
          # @see Shares
          def initialize(messages, count, run, retries, partition)
            super(messages, count, partition.progress, run)
            @retries = retries
            @partition = partition
            @reports = partition.reports
          end

          def parking? = true

          # @param indexes [Array<Integer>] of its messages
          def consume(call, key, indexes)
            return if @retries.void?(batch.generation)

            messages = call.messages(batch, indexes)
            ErrorBoundary.contain(->(error) { raised(error, key, messages, indexes) }) do
              call.consume(messages) ? returned(messages, true) : left_early(key, indexes)
            end
          end

          private

          def left_early(key, indexes)
            park(key, indexes) { |entry, left| left.size < indexes.size ? @retries.keys.due(entry) : @retries.postpone(entry) }
          end

          def raised(error, key, messages, indexes)
            @reports.consume_failed(error, messages, 1)
            park(key, indexes) { |entry, _| @retries.failed(entry, error, messages) }
          end

          def park(key, indexes)
            return if @retries.void?(batch.generation)

            left = @progress.not_done(batch, indexes)
            @retries.park(key, batch, left) { |entry| yield(entry, left) } if left&.any?
          end
        end

        def initialize(partition, consumers)
          super
          @reports = partition.reports
          @inbox = partition.inbox
          @retries = KeyRetries.new(partition, consumers)
          @inbox.on_key_retry = -> { @runners.push(@retries) }
        end

        # (see Run#blocked)
        def blocked = @retries.blocked

        def parked_keys = @retries.keys.tap { |keys| keys.renew(@progress.generation) }

        # (see VirtualPartitions#leave)
        def leave = @retries.keys.clear

        # (see VirtualPartitions#start)
        def start(batch, indexes, run)
          @retries.keys.renew(batch.generation)
          return false if rest?

          messages = batch.messages(indexes)
          calls = assign(messages, indexes, run)
          return false unless run.begins?(batch)

          dealt = deal(calls, batch)
          shares = KeyedShares.new(messages, [dealt.size, 1].max, run, @retries, @partition)
          dealt.each { |call, keys| @runners.push(Share.new(shares, call, keys, @runners)) }
          shares.ended if dealt.empty?
          true
        end

        private

        # @return [Array<Array(ConsumerCall, Object, Array<Integer>)>] who gets each key, and the indexes of its messages
        def assign(messages, indexes, run)
          keys = @partitioner.keys(messages, indexes) { |error, message| run.partitioner_failed(error, message) }
          keys.map do |key, own|
            place = @partitioner.place_of(key) { |error| run.partitioner_failed(error, messages.batch.messages(own).first) }
            [@consumers.at(place), key, own]
          end
        end

        # @return [Hash{ConsumerCall=>Array}] keys, and the indexes of their messages, without those that are parked
        def deal(calls, batch)
          calls.reject { |_, key, own| @retries.keys.hold(key, batch, own) }
            .group_by(&:first).transform_values { |keys| keys.map { |_, *key| key } }
        end

        # Whether too much is parked, so that the partition pauses. A key may make progress just before the pause begins: then only
        # this method can end the pause.
        def rest?
          return false unless @retries.full?

          @inbox.pause(:keys)
          keys, messages = @retries.keys.counts
          @reports.publish("key.limit_reached", keys:, messages:)
          @inbox.resume(:keys) unless @retries.full?
          true
        end
      end
    end
  end
end
