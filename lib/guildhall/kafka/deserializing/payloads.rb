# frozen_string_literal: true

require "English"
require "timeout"
require "guildhall/failure"

module Guildhall
  module Kafka
    module Deserializing
      # What becomes of a batch's payloads: each is decoded once, by the reader, by a worker, or by the thread that first
      # asks for it. Used by any thread of the main Ractor.
      class Payloads
        # What is kept of a payload that was decoded, and is nil.
        DECODED_NIL = Object.new.freeze
        private_constant :DECODED_NIL

        # @param source [Object] whose batches take turns in the pool
        # @param documents [Array<Object, nil>, nil] what the reader has decoded of each
        def initialize(plan, records, source, documents = nil)
          @plan = plan
          @records = records
          @source = source
          @documents = documents
          @values = documents && plan.complete? ? documents : Array.new(records.size)
          @undispatched = plan.place == :in_pool
          @lock = Mutex.new if @undispatched
          @future = @meter = @outcomes = @places = nil
          @again = false
        end

        # Blocks until it is there.
        # @param index [Integer] the record's
        # @return [Object, Failure, DROPPED, nil] nil for a tombstone too
        def [](index)
          value = @values[index]
          return DECODED_NIL.equal?(value) ? nil : value unless value.nil?

          value = outcome(index)
          @values[index] = value.nil? ? DECODED_NIL : value
          @meter&.count
          value
        end

        # Blocks until all of them are there.
        def wait
          run if @undispatched
          @future&.wait
          @records.each_index { |index| self[index] }
        end

        # @return [Boolean] whether payloads may be left out
        def filtering? = @plan.filtering?

        # Before another attempt: what failed is decoded again when it is read, unless it would end another thread.
        def again
          @again = true
          @values.each_with_index { |value, index| @values[index] = nil if repeat?(value) }
        end

        # Dispatches the batch to the pool, once. Called by a runner where something has to be prepared first.
        def run
          @lock.synchronize do
            next unless @undispatched

            @future, @meter = @plan.dispatch(without_tombstones, @source)
            @undispatched = false
          end
        end

        private

        def without_tombstones
          return @records unless @records.any?(&:tombstone?)

          place = -1
          @places = @records.map { |record| place += 1 unless record.tombstone? }
          @records.reject(&:tombstone?)
        end

        def outcome(index)
          record = @records[index]
          return if record.tombstone?
          return compute(index, record) if @lock.nil? || outcomes.nil?

          value = outcomes[@places ? @places[index] : index]
          repeat?(value) ? compute(index, record) : value
        end

        # What the pool has left to the reader is done in one go: asking for one after the other costs more.
        def outcomes
          run if @undispatched
          @outcomes ||= @future && (@future.deferred? ? @future.results : @future)
        end

        # What follows what the reader has decoded.
        def read(index, record)
          error = record.decode_error
          error ? Failure.of(error, index, @plan.stage) : @plan.finish(@documents[index], record)
        end

        def repeat?(outcome)
          @again && outcome.is_a?(Failure) && !outcome.fatal?
        end

        def compute(index, record)
          value = @documents && !record.deferred? ? read(index, record) : @plan.decode(record)
          ended = true
          value
        rescue SignalException, ::Timeout::ExitException
          raise # what interrupts the thread says nothing about the payload
        rescue Exception => error # rubocop:disable Lint/RescueException -- else it would fail the batch, whatever message asks for it
          ended = true
          Failure.of(error, index)
        ensure
          @values[index] = Failure.fatal(index) unless ended || $ERROR_INFO # Thread.exit
        end
      end
    end
  end
end
