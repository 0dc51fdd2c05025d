# frozen_string_literal: true

require "etc"

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
          def initialize(future, places)
            @future = future
            @places = places
          end

          # Blocks until it is there.
          # @return [Object, Failure, DROPPED]
          def [](index)
            place = @places ? @places[index] : index
            place && outcomes[place]
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
        # @param records [Boolean] whether the task takes records; else their payloads
        def initialize(task, pool, parallel, min_payloads, records: false)
          @records = records
          @task = task
          @pool = pool
          @parallel = parallel
          @min_payloads = min_payloads
          @alone = Etc.nprocessors == 1
        end

        # @return [nil]
        def codec; end

        # @param records [Array<Record>]
        # @param source [Object] whose batches take turns with other sources'
        # @return [Results]
        def begin(records, source)
          chosen = records.any?(&:tombstone?) ? records.reject(&:tombstone?) : records
          @records ? dispatch(records, chosen, source, inputs: chosen) : dispatch(records, chosen, source)
        end

        # What the reader has decoded is the input.
        # @return [Results]
        def begin_decoded(records, source)
          good = records.reject { |record| record.document.nil? }
          dispatch(records, good, source, inputs: good.map(&:document))
        end

        private

        # @param inputs [Array, nil] what the task gets; nil: the payloads
        def dispatch(records, chosen, source, inputs: nil)
          places = places(records, chosen)
          return Results.new(nil, places) if chosen.empty?

          how = inputs ? {metadata: chosen} : {envelopes: true}
          Results.new(@pool.dispatch(inputs || chosen, @task, source:, parallel: parallel(chosen), **how), places)
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

          true if records.sum(&:size) >= WORTHWHILE
        end
      end
    end
  end
end
