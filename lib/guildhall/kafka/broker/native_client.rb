# frozen_string_literal: true

require "guildhall/clock"
require_relative "librdkafka"
require_relative "../reading"
require_relative "../tokens"

module Guildhall
  module Kafka
    module Broker
      # Defined in C:
      # @!parse
      #   # @api private
      #   class Destruction; end

      # Extends the gem's own object around a client of librdkafka, so that the client can always be closed: within a time limit, without
      # the GVL, and whatever happened to the threads that used it.
      #
      # The gem counts the calls that use a client, and closing waits until there are none. The gem subtracts a call also if its thread is
      # killed, or interrupted, just before the call was counted: closing would wait for ever. This module subtracts only counted calls,
      # and costs no more than the gem's own way, since a producer calls it for each message.
      # @api private
      module NativeClient
        SLICE_MS = 100 # so that a thread that waits can be interrupted
        EVENTS = 16
        LEAVING_PAUSE_SECONDS = 1 # between two looks at a client that takes long to leave
        DESTROYED_PAUSE_SECONDS = 0.005 # between two looks whether it is destroyed
        private_constant :SLICE_MS, :EVENTS, :LEAVING_PAUSE_SECONDS, :DESTROYED_PAUSE_SECONDS

        # The gem's client configuration, without the callback for tokens that the gem gives each client once any library has set one in
        # this process: {Tokens} brings ours, and librdkafka would not fetch any itself (`sasl.oauthbearer.method oidc`) beside it.
        class Configuration < Rdkafka::Config
          def initialize(settings) = super(Tokens.without(settings))

          private

          # The one hook between the gem's building a configuration and its creating the client.
          def native_config(opaque = nil)
            super.tap { |config| Rdkafka::Bindings.rd_kafka_conf_set_oauthbearer_token_refresh_cb(config, nil) }
          end
        end

        # nil: it is a double.
        def self.of(client) = client.instance_variable_get(:@native_kafka)&.extend(self)

        # Ruby interrupts a thread at calls and branches: there are none between counting and the note that it was counted, and none before
        # the subtraction.
        def with_inner
          counted = 0
          if @access_mutex.owned?
            @operations_in_progress += 1
            counted = 1
          else
            @access_mutex.synchronize do
              @operations_in_progress += 1
              counted = 1
            end
          end
          @inner.nil? ? raise(Rdkafka::ClosedInnerError) : yield(@inner)
        ensure
          @operations_in_progress -= counted
        end

        # Leaves the consumer group; rebalance callbacks run in this thread. librdkafka's own function waits until somebody answers.
        # @return [FFI::Pointer, nil] nil: that was done, or there is nothing to leave; else the queue for {.finish_leaving}
        def leave(timeout)
          with_inner do |handle|
            NativeClient.outlive_ruby(handle)
            queue = Librdkafka.rd_kafka_queue_new(handle)
            error = Librdkafka.rd_kafka_consumer_close_queue(handle, queue)
            unless error.null? # after a fatal error the membership has ended, and closing it never returns
              Rdkafka::Bindings.rd_kafka_error_destroy(error)
              next
            end

            limit = Clock.now + timeout
            kept = nil
            loop do
              NativeClient.serve(queue)
              break if Librdkafka.rd_kafka_consumer_closed(handle) == 1
              break kept = queue if Clock.now > limit
            end
            kept
          ensure
            Librdkafka.rd_kafka_queue_destroy(queue) if queue && !kept
          end
        end

        # Carries out what librdkafka asks for while a consumer leaves.
        def self.serve(queue)
          buffer = FFI::MemoryPointer.new(:pointer, EVENTS)
          count = Rdkafka::Bindings.rd_kafka_consume_batch_queue(queue, SLICE_MS, buffer, EVENTS)
          count.times { |index| Rdkafka::Bindings.rd_kafka_message_destroy(buffer.get_pointer(index * FFI::Pointer.size)) }
        end

        # Goes on where {#leave} was not done in time, in the background, for as long as it takes, and then destroys the client. What nobody
        # took of the queue would fill the memory: statistics come for as long as the client lives.
        # @param client [Object] whose callbacks librdkafka calls: it must not be collected
        def self.finish_leaving(handle, queue, client)
          thread = Thread.new do
            until Librdkafka.rd_kafka_consumer_closed(handle) == 1
              serve(queue)
              sleep(LEAVING_PAUSE_SECONDS)
            end
            Librdkafka.rd_kafka_queue_destroy(queue)
            destroy(handle, Float::INFINITY)
            client
          end
          thread.name = "guildhall leaving"
        end

        # Takes the handle from the gem, which would destroy it with the GVL: the whole process would be blocked, and where a request ends
        # unanswered in a callback, which needs the GVL, the process would wait for itself.
        def self.detach(client)
          ObjectSpace.undefine_finalizer(client)
          native = client.instance_variable_get(:@native_kafka)
          native.synchronize { |handle| handle.tap { native.instance_variable_set(:@inner, nil) } }
        end

        # Requests on their way may hold that up, for seconds or for ever: then it goes on behind the scenes, without holding up the end
        # of the process. A consumer has to have left its group.
        # @return [Boolean] whether it was done in time
        def self.destroy(handle, timeout)
          limit = Clock.now + timeout
          destruction = Destruction.new(handle.address, *Librdkafka.addresses(%w[rd_kafka_destroy]))
          sleep(DESTROYED_PAUSE_SECONDS) until (done = destruction.done?) || Clock.now >= limit
          done
        end

        # The client may still be at work when the process ends: it must have its code, and must not log by way of a Ruby that is gone.
        def self.outlive_ruby(handle)
          Librdkafka.keep
          Librdkafka.rd_kafka_set_log_level(handle, 0)
        end
      end
    end
  end
end
