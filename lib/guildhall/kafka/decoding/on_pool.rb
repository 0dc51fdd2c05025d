# frozen_string_literal: true

module Guildhall
  module Kafka
    module Decoding
      # Batches go to the pool as they are read: its workers decode while the batch waits for a runner.
      class OnPool
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
        def initialize(task, pool, parallel, min_payloads)
          @task = task
          @pool = pool
          @parallel = parallel
          @min_payloads = min_payloads
        end

        # @return [nil]
        def codec; end

        # @param records [Array<Record>]
        # @param source [Object] whose batches take turns with other sources'
        # @return [Results]
        def begin(records, source)
          dispatch(records, records.any?(&:tombstone?) ? records.reject(&:tombstone?) : records, source, envelopes: true)
        end

        # What the reader has decoded is the input.
        # @return [Results]
        def begin_decoded(records, source)
          good = records.reject { |record| record.document.nil? }
          dispatch(records, good, source, documents: true)
        end

        private

        def dispatch(records, chosen, source, envelopes: false, documents: false)
          places = places(records, chosen)
          return Results.new(nil, places) if chosen.empty?

          future = if documents
                     @pool.dispatch(chosen.map(&:document), @task, source:, metadata: chosen, parallel: parallel(chosen.size))
                   else
                     @pool.dispatch(chosen, @task, source:, envelopes:, parallel: parallel(chosen.size))
                   end
          Results.new(future, places)
        end

        def places(records, chosen)
          return if records.size == chosen.size

          place = -1
          rest = chosen.to_h { |record| [record.offset, place += 1] }
          records.map { |record| rest[record.offset] }
        end

        def parallel(size)
          @min_payloads && size < @min_payloads ? false : @parallel
        end
      end
    end
  end
end
