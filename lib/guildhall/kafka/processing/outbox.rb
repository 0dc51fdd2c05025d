# frozen_string_literal: true

require "forwardable"
require "guildhall/clock"
require_relative "assignment"
require_relative "dispatches"
require_relative "parcel"

module Guildhall
  module Kafka
    module Processing
      # Messages that a partition's consumers send on to other topics as they are (`pipe_to`, the forwarder of delay topics). The call waits
      # for the brokers for {Dispatches::LATE_SECONDS} only, and raises {ForwardingError} then. {Dispatches} waits instead, and once the
      # brokers have all, the consumer is called again: what has arrived is not sent again then. Any thread.
      class Outbox
        extend Forwardable

        # What was sent by one call. See {Dispatches}.
        class Load
          # @return [Integer]
          attr_reader :generation

          # @param parcels [Array<Parcel>] in the order in which they are sent
          # @param application [Application]
          def initialize(parcels, application)
            @parcels = parcels
            @generation = parcels.first.message.batch.generation
            @application = application
            @lock = Mutex.new
            @ended = false
            @on_settled = []
          end

          def first = open.first&.message

          def target = open.first&.topic

          def deliver(give_up)
            producer = @application.producer
            deliver_by(producer, Clock.now + (producer.config.max_wait_timeout / 1000.0), give_up)
          end

          # @param producer [#client]
          # @param limit [Float] of the {Clock}
          # @param give_up [#call] asked now and then
          # @return [void]
          # @raise [ForwardingError]
          def deliver_by(producer, limit, give_up = -> { false })
            open.each { |parcel| parcel.start(producer, limit) }
            @parcels.all? { |parcel| parcel.wait(limit, give_up) }
            send_later_ones_again
            failing = open.find(&:failure) || open.first
            raise failing.undelivered if failing
          end

          # @return [Boolean] whether the brokers may still take all of it
          def late? = open.none?(&:failure)

          def abandon
            @lock.synchronize { @ended = true }
            open.filter_map(&:handle).each { |handle| @application.abandon(handle) }
          end

          def settled = @lock.synchronize { @on_settled.slice!(0..) }.each(&:call)

          # @yield called once the brokers have all of it, by this thread or another; not where that has become void
          # @return [void]
          def on_settled(&block)
            later = @lock.synchronize { !@ended && @on_settled << block }
            block.call unless later
          end

          # @return [Boolean] whether it is still sent by {Dispatches}
          def pending? = !@ended

          private

          def open = @parcels.reject(&:settled?)

          # As if all were sent for the first time: their order stays.
          def send_later_ones_again
            failed = {}
            @parcels.each do |parcel|
              if parcel.failure then failed[parcel.stream] = true
              elsif failed.any? && parcel.arrived? && failed.key?(parcel.stream) then parcel.reset
              end
            end
          end
        end
        private_constant :Load

        # Sends records in a transaction, where nothing can be sent later: waits as long as {#forward}.
        # @param records [Array<Array(Message, Hash)>]
        # @param producer [Producing::TransactionalProducer]
        # @return [void]
        # @raise [ForwardingError, Rdkafka::RdkafkaError]
        def self.forward_at_once(records, producer, application)
          return if records.empty?

          parcels = records.map { |message, record| Parcel.new(message, record) }
          Load.new(parcels, application).deliver_by(producer, Clock.now + Dispatches::LATE_SECONDS)
          error = parcels.filter_map(&:refused).first and raise error
        end

        # @param assignment [Assignment]
        def initialize(assignment)
          @application = assignment.application
          @offsets = assignment.offsets
          @dispatches = Dispatches.new(assignment, "forwarding")
          @lock = Mutex.new
          @kept = {} # key => parcels, in the order in which they were sent, of calls that have raised
        end

        # @!method blocked
        #   @see Dispatches#blocked
        def_delegators :@dispatches, :blocked

        # @return [Boolean] whether anything was ever sent
        def used? = @used || false

        # Blocks for {Dispatches::LATE_SECONDS} at most.
        # @param records [Array<Array(Message, Hash | Exception)>] messages, and what is sent of each: see {Parcel}
        # @param how [Hash{Symbol=>Boolean}] as for {Parcel}
        # @yieldparam parcels [Array<Parcel>] as they are then, before an error is raised
        # @return [void]
        # @raise [ForwardingError] where the brokers have not taken all in time
        # @raise [Rdkafka::RdkafkaError] where they have refused one
        def forward(records, **how)
          return if records.empty?

          @used = true
          parcels = take(records, how)
          error = parcels.any? { |parcel| parcel.load&.pending? } ? still_waiting(parcels) : deliver(parcels)
          yield parcels if block_given?
          keep(parcels) if error
          raise error if error
        end

        private

        # @return [Exception, nil]
        def deliver(parcels)
          load = Load.new(parcels, @application)
          load.deliver_by(@application.producer, Clock.now + Dispatches::LATE_SECONDS)
          parcels.filter_map(&:refused).first
        rescue ForwardingError => error
          parcels.each { |parcel| parcel.load = load unless parcel.settled? }
          @dispatches.go_on(load, error, late: load.late?)
          error.load = load
          error
        end

        # Nothing is sent beside: it would arrive before what waits.
        def still_waiting(parcels)
          waiting = parcels.find { |parcel| parcel.load&.pending? }
          waiting.undelivered.tap { |error| error.load = waiting.load }
        end

        # A message that was refused is sent again.
        def keep(parcels)
          @lock.synchronize do
            @kept.delete_if { |_, list| list.all? { |parcel| forgotten?(parcel.message) } }
            parcels.each { |parcel| (@kept[parcel.key] ||= []) << parcel unless parcel.refused && !parcel.load&.pending? }
          end
        end

        def take(records, how)
          made = records.map { |message, record| Parcel.new(message, record, **how) }
          return made if @kept.empty?

          @lock.synchronize do
            made.map do |parcel|
              kept = @kept[parcel.key] or next parcel
              before = kept.shift
              @kept.delete(parcel.key) if kept.empty?
              before.message.batch.generation == @offsets.generation ? before : parcel
            end
          end
        end

        def forgotten?(message) = message.batch.generation != @offsets.generation || @offsets.done?(message.offset)
      end
    end
  end
end
