# frozen_string_literal: true

require "guildhall/clock"
require_relative "../dispatches"
require_relative "parcel"
require_relative "partition_counts"

module Guildhall
  module Kafka
    class Partition
      class Outbox
        # What was sent by one call. See {Dispatches}.
        class Load
          attr_reader :generation

          # @param parcels [Array<Parcel>] in the order in which they are sent
          def initialize(parcels, runtime)
            @parcels = parcels
            @generation = parcels.first.message.batch.generation
            @runtime = runtime
            @counts = PartitionCounts.new
            @lock = Mutex.new
            @ended = false
            @on_settled = []
          end

          def first = open.first&.message

          def target = open.first&.topic

          def deliver(give_up)
            producer = @runtime.producer
            deliver_by(producer, Clock.now + (producer.config.max_wait_timeout / 1000.0), give_up)
          end

          # @param limit [Float] of the {Clock}
          # @param give_up [#call] asked now and then
          # @raise [ForwardingError]
          def deliver_by(producer, limit, give_up = -> { false })
            @counts.begin(producer, limit, give_up)
            if take_back_later_ones(limit, give_up)
              open.each { |parcel| give_up.call ? break : parcel.start(producer, @counts) }
              wait(@parcels, limit, give_up)
            end
            failing = open.find(&:failure) || open.first
            raise failing.undelivered if failing
          end

          # @return [Boolean] whether the brokers may still take all of it
          def late? = open.none?(&:failure)

          def abandon
            @lock.synchronize { @ended = true }
            open.filter_map(&:handle).each { |handle| @runtime.abandon(handle) }
          end

          def settled = @lock.synchronize { @on_settled.slice!(0..) }.each(&:call)

          # @yield called once the brokers have all of it, by this thread or another; at once where it is no longer pending; never where a
          #   seek, or the partition's end, makes it void later
          def on_settled(&block)
            later = @lock.synchronize { !@ended && @on_settled << block }
            block.call unless later
          end

          # @return [Boolean] whether anybody waits for it: see {#on_settled}
          def awaited? = @lock.synchronize { @on_settled.any? }

          # @return [Boolean] whether it is still sent by {Dispatches}
          def pending? = !@ended

          private

          def open = @parcels.reject(&:settled?)

          # @return [Boolean] false: one of them is still on its way
          def wait(parcels, limit, give_up) = parcels.all? { |parcel| parcel.wait(limit, give_up) }

          # What comes behind one that has failed is sent again after it, as if all were sent for the first time: their order stays. One
          # that is still on its way might arrive before or after: nothing is sent until that is known.
          # @return [Boolean] false: one of them is still on its way
          def take_back_later_ones(limit, give_up)
            later = behind_failures
            wait(later, limit, give_up).tap { |arrived| later.select(&:arrived?).each(&:reset) if arrived }
          end

          def behind_failures
            failed = {}
            @parcels.select do |parcel|
              failed[parcel.stream] = true if parcel.failure
              failed.any? && !parcel.failure && !parcel.refused && failed.key?(parcel.stream)
            end
          end
        end
      end
    end
  end
end
