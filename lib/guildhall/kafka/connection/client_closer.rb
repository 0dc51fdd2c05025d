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

        # The gem would destroy an admin client with the GVL. A request that is not answered then ends in a callback, which needs the GVL:
        # the process would wait for itself, for ever.
        # @param timeout [Numeric] seconds
        # @return [Boolean] whether it was done in time; else it goes on behind the scenes
        def self.close_admin(admin, timeout)
          return true if admin.closed?

          ObjectSpace.undefine_finalizer(admin)
          native = admin.instance_variable_get(:@native_kafka)
          return false unless end_polling(native.instance_variable_get(:@polling_thread), timeout)

          handle = native.synchronize { |inner| inner.tap { native.instance_variable_set(:@inner, nil) } }
          outlive_ruby(handle)
          destroy(handle, timeout)
        end

        # By itself it would wait for what is not answered.
        def self.end_polling(thread, timeout) = thread.nil? || !!thread.kill.join(timeout)

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
        private_class_method :end_polling, :outlive_ruby, :refused?, :with_queue, :within, :serve
      end
    end
  end
end
