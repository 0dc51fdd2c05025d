# frozen_string_literal: true

require "English"
require "guildhall/callable"

module Guildhall
  module Kafka
    module Decoding
      # Each payload is decoded when it is first asked for, in the thread that asks.
      class OnAccess
        # What became of a batch so far.
        class Results
          def initialize(records, task, metadata)
            @records = records
            @task = task
            @metadata = metadata
            @values = Array.new(records.size)
            @known = Array.new(records.size)
          end

          # @return [Object, Failure, DROPPED]
          def [](index)
            return @values[index] if @known[index]

            keep(index, @records[index].tombstone? ? nil : compute(index))
          end

          # What failed is done anew when it is next asked for, unless it would end another thread.
          # @return [self]
          def again
            @values.each_with_index { |value, index| @known[index] = false if value.is_a?(Failure) && !value.deadly? }
            self
          end

          # Decodes all that is left.
          # @return [void]
          def wait
            @records.each_index { |index| self[index] }
          end

          private

          def keep(index, value)
            @known[index] = true
            @values[index] = value
          end

          def compute(index)
            value = call(@records[index])
            ended = true
            value
          rescue StandardError, ScriptError, SystemStackError, SystemExit, NoMemoryError => error
            ended = true
            Decoding.failure(error, index)
          ensure
            keep(index, Failure.deadly(index)) unless ended || $ERROR_INFO # Thread.exit
          end

          def call(record)
            @metadata ? @task.call(input(record), record) : @task.call(input(record))
          end

          def input(record)
            record.raw_payload
          end
        end

        # @param task [#call]
        def initialize(task)
          @task = task
          @metadata = Callable.takes_metadata?(task)
        end

        # @return [nil]
        def codec; end

        # @return [Results]
        def begin(records, _source)
          Results.new(records, @task, @metadata)
        end

        # What the reader has decoded is the input.
        # @return [DocumentResults]
        def begin_decoded(records, _source)
          DocumentResults.new(records, @task, @metadata)
        end

        # Results of what comes after the reader's decoding.
        class DocumentResults < Results
          private

          def input(record)
            record.document
          end
        end
      end
    end
  end
end
