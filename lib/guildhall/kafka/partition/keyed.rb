# frozen_string_literal: true

require_relative "key_retries"
require_relative "virtual"

module Guildhall
  module Kafka
    class Partition
      # Virtual partitions with `ordering :key`: each key is on its own, and `consume` is called with the messages of one key. Where it
      # raises, that key is parked: {KeyRetries} tries it again, its further messages are held behind it, and the batch goes on without it.
      # Where too much is parked, the partition rests.
      # @api private
      class Keyed < Virtual
        # A batch in work, of which each key that fails is parked.
        class Work < Virtual::Work
          def initialize(run, messages, partition, retries)
            super(run, messages, partition)
            @retries = retries
          end

          # @param share [Array(Object, Array<Integer>)] a key, and the indexes of its messages
          def consume(call, share)
            key, indexes = share
            return if @partition.void?(batch.generation) || @retries.keys.hold(key, batch, indexes)

            call.consume(batch.messages(indexes, call)) { |result| settle_or_park(result, key, indexes) }
          end

          private

          def settle_or_park(result, key, indexes)
            settle(result)
          ensure # a subscriber may end this thread, here and below
            park(result, key, indexes) unless result.whole
          end

          def park(result, key, indexes)
            return if @partition.void?(batch.generation)

            left = @progress.not_done(batch, indexes)
            return unless left&.any?

            @retries.park(key, batch, left) do |entry|
              next @retries.failed(entry, result.error, result.messages) if result.error

              left.size < indexes.size ? @retries.keys.due(entry) : entry.attempts.postpone
            end
          end
        end

        def initialize(partition, consumers, run, retries)
          super(partition, consumers, run)
          @retries = retries
        end

        # (see Virtual#begin)
        def begin(batch, indexes)
          @retries.keys.renew(batch.generation)
          super unless @retries.rest?(batch)
        end

        private

        def work(messages) = Work.new(@run, messages, @partition, @retries)

        def deal(messages, indexes)
          @partitioner.keys(messages, indexes, @retries.keys.to_a) { |error, message| report(error, message) }.group_by do |key, own|
            @consumers.at(@partitioner.number_of(key) { |error| report(error, messages.batch.messages(own).first) })
          end
        end
      end
    end
  end
end
