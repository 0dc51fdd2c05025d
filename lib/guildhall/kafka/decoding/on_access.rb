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
          # @param inputs [Array, nil] what the task gets of each record; nil: its payload
          def initialize(records, task, metadata, inputs = nil)
            @records = records
            @inputs = inputs
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
            value = call(@records[index], index)
            ended = true
            value
          rescue StandardError, ScriptError, SystemStackError, SystemExit, NoMemoryError => error
            ended = true
            Decoding.failure(error, index)
          ensure
            keep(index, Failure.deadly(index)) unless ended || $ERROR_INFO # Thread.exit
          end

          def call(record, index)
            input = @inputs ? @inputs[index] : record.raw_payload
            @metadata ? @task.call(input, record) : @task.call(input)
          end
        end

        # @param task [#call]
        def initialize(task)
          @task = task
          @metadata = Callable.takes_metadata?(task)
        end

        # @return [nil]
        def codec; end

        # @param inputs [Array, nil] what the task gets of each record; nil: its payload
        # @return [Results]
        def begin(records, _source, inputs = nil)
          Results.new(records, @task, @metadata, inputs)
        end
      end
    end
  end
end
