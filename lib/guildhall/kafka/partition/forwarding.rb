# frozen_string_literal: true

require "guildhall/clock"
require_relative "dispatches"
require_relative "forwarding/load"

module Guildhall
  module Kafka
    class Partition
      # Messages that a partition's consumers send on to other topics as they are (`pipe_to`, the forwarder of delay topics). The call waits
      # for the brokers for {Dispatches::LATE_SECONDS} only, and raises {ForwardingError} then. {Dispatches} waits instead, and once the
      # brokers have all, the consumer is called again: what has arrived is not sent again then. Any thread.
      # @api private
      class Forwarding
        # Sends records in a transaction, where nothing can be sent later: waits as long as {#forward}.
        # @raise [ForwardingError, Rdkafka::RdkafkaError]
        def self.forward_at_once(records, producer, runtime)
          return if records.empty?

          parcels = records.map { |message, record| Parcel.new(message, record) }
          Load.new(parcels, runtime).deliver_by(producer, Clock.now + Dispatches::LATE_SECONDS)
          error = parcels.filter_map(&:refused).first and raise error
        end

        def initialize(partition)
          @runtime = partition.runtime
          @progress = partition.progress
          @dispatches = Dispatches.new(partition, "forwarding")
          @lock = Mutex.new
          @kept = {} # key => parcel, of calls that have raised
          @loads = [] # that calls have left
          @used = false
        end

        # (see Dispatches#blocked)
        def blocked = @dispatches.blocked

        # @return [Boolean] whether anything was ever sent
        def used? = @used

        # Blocks for {Dispatches::LATE_SECONDS} at most.
        # @param records [Array<Array(Message, Hash | Exception)>] messages, and what is sent of each: see {Parcel}
        # @param sent [Hash{Array=>Integer}] how often this call of `consume` has sent each message to a topic, by {Parcel#route}
        # @param how [Hash{Symbol=>Boolean}] as for {Parcel}
        # @yieldparam parcels [Array<Parcel>] as they are then, before an error is raised
        # @raise [ForwardingError] where the brokers have not taken all in time
        # @raise [Rdkafka::RdkafkaError] where they have refused one
        def forward(records, sent, **how)
          return if records.empty?

          @used = true
          parcels = take(records, sent, how)
          waiting = parcels.find { |parcel| parcel.load&.pending? } # then nothing is sent beside: it would arrive before what waits
          error = waiting ? waiting.undelivered.tap { |late| late.load = waiting.load } : deliver(parcels)
          yield parcels if block_given?
          return unless error

          keep(parcels)
          raise error
        end

        # @return [Boolean] whether something is sent that nobody waits for: its call was the only one (delivery at most once), has rescued
        #   the error, or was none of `consume`
        def left_over? = !left_over.nil?

        # @yield called once all of that has been sent, by this thread or another; not where a seek, or the partition's end, makes it void
        def on_sent(&block)
          load = left_over
          load ? load.on_settled { on_sent(&block) } : block.call
        end

        private

        def deliver(parcels)
          load = Load.new(parcels, @runtime)
          load.deliver_by(@runtime.producer, Clock.now + Dispatches::LATE_SECONDS)
          parcels.filter_map(&:refused).first
        rescue ForwardingError => error
          void?(load) ? load.abandon : hand_over(load, parcels, error)
          error
        end

        # What a seek has made void is not waited for: it may never be read again.
        def hand_over(load, parcels, error)
          parcels.each { |parcel| parcel.load = load unless parcel.settled? }
          @lock.synchronize { @loads = [*@loads.select(&:pending?), load] }
          @dispatches.take_over(load, error, late: load.late?)
          error.load = load
        end

        def left_over = @lock.synchronize { @loads.find { |load| load.pending? && !load.awaited? && !void?(load) } }

        def void?(load) = @progress.void?(load.generation)

        # A message that was refused is sent again.
        def keep(parcels)
          @lock.synchronize do
            @kept.delete_if { |_, parcel| void?(parcel.message.batch) || @progress.done?(parcel.message.offset) }
            parcels.each { |parcel| @kept[parcel.key] = parcel unless parcel.refused && !parcel.load&.pending? }
          end
        end

        def take(records, sent, how)
          @lock.synchronize do
            records.map do |message, record|
              parcel = Parcel.new(message, record, **how)
              parcel.ordinal = sent[parcel.route] += 1
              before = @kept.delete(parcel.key)
              before.nil? || void?(before.message.batch) ? parcel : before
            end
          end
        end
      end
    end
  end
end
