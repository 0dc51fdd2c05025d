# frozen_string_literal: true

require "etc"
require_relative "on_access"
require_relative "preparing"

module Guildhall
  module Kafka
    module Decoding
      # Batches go to the pool as they are read: its workers decode while the batch waits for a runner.
      class OnPool
        # A batch of that many bytes is handed over wherever there is more than one core. The pool alone would ask whether
        # its results come sooner; here nobody waits for them yet, and what workers do leaves the runners free.
        WORTHWHILE = 65_536

        # What became of a batch.
        class Results
          # @param places [Array<Integer, nil>] each record's index in the future; nil for one that was not dispatched
          # @param repeating [Proc] returns results of those who ask for them
          def initialize(future, places, repeating)
            @future = future
            @places = places
            @repeating = repeating
            @repeated = @outcomes = nil
          end

          # Blocks until it is there.
          # @return [Object, Failure, DROPPED]
          def [](index)
            place = @places ? @places[index] : index
            value = place && outcomes[place]
            @repeated && value.is_a?(Failure) && !value.deadly? ? @repeated[index] : value
          end

          # What failed is done anew by whoever asks for it, unless it would end another thread.
          # @return [self]
          def again
            @repeated = @repeated ? @repeated.again : @repeating.call
            self
          end

          # @return [void]
          def wait
            @future&.wait
          end

          private

          # What the pool has left to the reader is done in one go: asking for one after the other costs more.
          def outcomes
            @outcomes ||= @future.deferred? ? @future.results : @future
          end
        end

        # @param task [#call] shareable
        # @param pool [Guildhall::Pool]
        # @param parallel [Boolean, nil]
        # @param min_payloads [Integer, nil]
        # @param whole [#call, nil] what makes values of payloads, where the task takes records; nil: the task takes payloads
        def initialize(task, pool, parallel, min_payloads, whole: nil)
          @records = !whole.nil?
          @preparing = Preparing.for(whole || task)
          @on_access = OnAccess.new(whole || task)
          @task = task
          @pool = pool
          @parallel = parallel
          @min_payloads = min_payloads
          @alone = Etc.nprocessors == 1
        end

        # @return [nil]
        def codec; end

        # Blocks where the task has something to prepare; where that fails, payloads are left to those who ask for them.
        # @param records [Array<Record>]
        # @param source [Object] whose batches take turns with other sources'
        # @return [Results, OnAccess::Results]
        def begin(records, source, _documents = nil)
          return @on_access.begin(records, source) unless @preparing.nil? || @preparing.call(records)

          chosen = records.any?(&:tombstone?) ? records.reject(&:tombstone?) : records
          dispatch(records, chosen, source) { @on_access.begin(records, source) }
        end

        private

        # @yieldreturn [OnAccess::Results] to do again what failed
        def dispatch(records, chosen, source, &repeating)
          places = places(records, chosen)
          return Results.new(nil, places, repeating) if chosen.empty?

          how = @records ? {metadata: chosen} : {envelopes: true}
          Results.new(@pool.dispatch(chosen, @task, source:, parallel: parallel(chosen), **how), places, repeating)
        end

        def places(records, chosen)
          return if records.size == chosen.size

          place = -1
          rest = chosen.to_h { |record| [record.offset, place += 1] }
          records.map { |record| rest[record.offset] }
        end

        def parallel(records)
          return false if @min_payloads && records.size < @min_payloads
          return @parallel if !@parallel.nil? || @alone

          true if records.first.class.bytes(records) >= WORTHWHILE
        end
      end
    end
  end
end
