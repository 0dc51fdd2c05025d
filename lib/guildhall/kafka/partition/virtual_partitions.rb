# frozen_string_literal: true

require "guildhall/clock"
require "guildhall/error_boundary"
require_relative "partitioner"

module Guildhall
  module Kafka
    class Partition
      # One partition worked on by several runners. Each batch is dealt out in shares, which run side by side; the next batch
      # begins when all of them have ended. Where a consumer raises, what no share has finished is consumed in order by one
      # consumer ("collapsed"), so that the message that fails can be found.
      class VirtualPartitions
        # What one virtual partition gets of a batch. A runner runs it.
        class Share
          def initialize(shares, call, messages)
            @shares = shares
            @call = call
            @messages = messages
          end

          def run
            ErrorBoundary.contain(->(error) { @shares.failed(error, @messages) }) do
              @shares.returned(@messages, @call.consume(@messages))
            end
          ensure
            @shares.ended
          end
        end

        # One batch while its shares run.
        class Shares
          # @return [Messages] all that are consumed
          attr_reader :messages
          # @return [Float] when it began, of the {Clock}
          attr_reader :began
          # @return [Exception, nil] the first that a consumer raised
          attr_reader :error
          # @return [Integer] how many messages `consume` has returned for
          attr_reader :size

          # @param messages [Messages] all that are consumed
          # @param count [Integer] of shares
          def initialize(messages, count, progress, run)
            @messages = messages
            @began = Clock.now
            @running = count
            @progress = progress
            @run = run
            @lock = Mutex.new
            @error = nil
            @size = 0
          end

          def batch = @messages.batch

          # @return [Boolean] whether what failed is parked, by key
          def parking? = false

          def failed(error, messages)
            @lock.synchronize { @error ||= error }
            @run.share_failed(error, messages)
          end

          # @param whole [Boolean] whether all of these messages are done; false: only what was marked
          def returned(messages, whole)
            @lock.synchronize { @size += messages.size }
            @progress.complete_each(batch.generation) { messages.next_steps } if whole
          end

          # A share has ended, one way or the other.
          def ended
            @run.shares_ended(self) if @lock.synchronize { (@running -= 1).zero? }
          end
        end

        def initialize(partition, consumers)
          @partition = partition
          @consumers = consumers
          @progress = partition.progress
          @runners = partition.runtime.runners
          @partitioner = Partitioner.new(@partition.topic.virtual_partitions, partition.runtime.config.concurrency)
          @collapsed = false
        end

        # @return [Boolean] whether the partition is consumed in order for now
        attr_accessor :collapsed
        alias collapsed? collapsed

        # @return [nil] it sends nothing to the dead letters itself
        def blocked = nil

        # @return [nil] no keys are parked
        def parked_keys = nil

        # The partition is given up.
        def leave = nil

        # Hands a batch to the runners. Does not block.
        # @param indexes [Array<Integer>] of the messages that are to be consumed
        # @param run [Run] notified when a share fails, and when the last one has ended
        # @return [Boolean] whether runners have it now; false: the partition rests, or a seek has made the batch void
        # @raise what a consumer's `initialized` raises; nothing has begun then
        def start(batch, indexes, run)
          messages = batch.messages(indexes)
          dealt = @partitioner.deal(messages, indexes) { |error, message| run.partitioner_failed(error, message) }
          shares = Shares.new(messages, dealt.size, @progress, run)
          jobs = dealt.map do |place, own|
            call = @consumers.at(place)
            Share.new(shares, call, call.messages(batch, own))
          end
          return false unless run.begins?(batch)

          jobs.each { |job| @runners.push(job) }
          true
        end
      end
    end
  end
end
