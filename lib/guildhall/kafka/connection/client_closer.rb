# frozen_string_literal: true

require_relative "librdkafka"

module Guildhall
  module Kafka
    module Connection
      # What librdkafka does with the brokers at the end of a membership, with a limit to the time that it takes: its own
      # functions for it wait until somebody answers.
      module ClientCloser
        SLICE_MS = 100 # so that a thread that waits can be interrupted
        EVENTS = 16

        # Leaves the group; rebalance callbacks run in this thread.
        # @param handle [FFI::Pointer]
        # @param timeout [Numeric] seconds
        # @return [Boolean] whether that was done, or there is nothing to leave
        def self.leave(handle, timeout)
          outlive_ruby(handle)
          buffer = FFI::MemoryPointer.new(:pointer, EVENTS)
          with_queue(handle) do |queue|
            next true if refused?(Librdkafka.rd_kafka_consumer_close_queue(handle, queue))

            within(timeout) do
              serve(queue, buffer)
              Librdkafka.rd_kafka_consumer_closed(handle) == 1
            end
          end
        end

        # Requests on their way may hold that up, for seconds: then it goes on behind the scenes.
        # @param handle [FFI::Pointer] of a client that has left its group
        # @param timeout [Numeric] seconds
        # @return [Boolean] whether it was done in time
        def self.destroy(handle, timeout)
          thread = Thread.new { Librdkafka.rd_kafka_destroy(handle) }
          thread.name = "guildhall closing"
          !!thread.join(timeout)
        end

        # It may be at work still when the process ends: it must have its code, and must not log by way of a Ruby that is gone.
        def self.outlive_ruby(handle)
          Librdkafka.keep
          Librdkafka.rd_kafka_set_log_level(handle, 0)
        end

        # After a fatal error the membership has ended, and closing it never returns.
        def self.refused?(error)
          return false if error.null?

          Rdkafka::Bindings.rd_kafka_error_destroy(error)
          true
        end

        def self.with_queue(handle)
          queue = Librdkafka.rd_kafka_queue_new(handle)
          yield(queue)
        ensure
          Librdkafka.rd_kafka_queue_destroy(queue) if queue
        end

        # @return [Boolean] whether the block became true in time
        def self.within(timeout)
          limit = Clock.now + timeout
          until (done = yield)
            break if Clock.now > limit
          end
          !!done
        end

        def self.serve(queue, buffer)
          count = Rdkafka::Bindings.rd_kafka_consume_batch_queue(queue, SLICE_MS, buffer, EVENTS)
          count.times { |index| Rdkafka::Bindings.rd_kafka_message_destroy(buffer.get_pointer(index * FFI::Pointer.size)) }
        end
        private_class_method :outlive_ruby, :refused?, :with_queue, :within, :serve
      end
    end
  end
end
