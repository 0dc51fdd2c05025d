# frozen_string_literal: true

require "guildhall/clock"
require "guildhall/error_boundary"
require_relative "../broker/librdkafka"
require_relative "../reading"
require_relative "../tokens"

module Guildhall
  module Kafka
    module Producing
      # Hands messages over to librdkafka, and takes its reports (`ext/guildhall_kafka/sender.c`).
      # @api private
      class Sender
        # The functions that it calls, in the order of its struct.
        FUNCTIONS = %w[
          rd_kafka_produceva rd_kafka_error_code rd_kafka_error_is_fatal rd_kafka_error_destroy rd_kafka_topic_name
          rd_kafka_queue_get_main rd_kafka_queue_destroy rd_kafka_queue_yield rd_kafka_queue_poll rd_kafka_event_type
          rd_kafka_event_message_array rd_kafka_event_destroy rd_kafka_event_error rd_kafka_event_error_string rd_kafka_event_log
          rd_kafka_event_stats rd_kafka_event_config_string
        ].freeze
        FIELDS = {topic: "at most 249 letters, digits, dots, underscores and hyphens", payload: "a String or nil", key: "a String or nil",
                  partition: "a number of a partition or nil", timestamp: "milliseconds since 1970, a Time from then on, or nil",
                  headers: "a Hash, or nil"}.freeze
        TOPIC = /\A[a-zA-Z0-9._-]{1,249}\z/
        MOST_MILLISECONDS = 1 << 53
        TEXTS = [String, Symbol, Integer, Float, nil, true, false].freeze # of headers' values: what is sent without a call of Ruby
        private_constant :FUNCTIONS, :FIELDS, :TOPIC, :MOST_MILLISECONDS, :TEXTS

        # @param handle [FFI::Pointer] of a producer whose deliveries are events
        # @raise [LibrdkafkaError] when the library lacks one of the functions
        def self.for(handle) = new(handle.address, Broker::Librdkafka.addresses(FUNCTIONS))

        # @raise [Guildhall::ArgumentError] unless it is a message: saying what is wrong with it
        def self.check!(message)
          raise Guildhall::ArgumentError, "a message must be a Hash, not #{Config::Secrets.kind(message)}" unless message.is_a?(Hash)

          unknown = (message.keys - FIELDS.keys).map(&:inspect)
          raise Guildhall::ArgumentError, "a message has #{FIELDS.keys.join(", ")}; not #{unknown.join(", ")}" if unknown.any?

          field = FIELDS.keys.find { |name| !allowed?(name, message[name]) }
          raise Guildhall::ArgumentError, "a message's #{field} must be #{FIELDS[field]}, not #{given(field, message[field])}" if field

          message[:headers]&.each { |name, value| check_header!(name, value) }
        end

        def self.check_header!(name, value)
          unless (name.is_a?(String) || name.is_a?(Symbol)) && !name.to_s.b.include?("\0")
            raise Guildhall::ArgumentError, "a header's name must be a String or Symbol without NUL, not #{Config::Secrets.kind(name)}"
          end

          wrong = (value.is_a?(Array) ? value : [value]).find { |one| TEXTS.none? { |klass| klass === one } }
          return if wrong.nil?

          raise Guildhall::ArgumentError, "header #{name} must be a String, a Symbol, a number, true, false, nil, or an Array of these, " \
                                          "not #{Config::Secrets.kind(wrong)}"
        end

        # Never what may be secret.
        def self.given(field, value)
          return Config::Secrets.kind(value) unless %i[partition timestamp].include?(field) && (value.is_a?(Integer) || value.is_a?(Time))

          value.to_s.then { |text| text.size > 40 ? "a number of #{text.size} digits" : text }
        end

        def self.allowed?(field, value)
          case field
          when :topic then (value.is_a?(String) || value.is_a?(Symbol)) && value.to_s.b.match?(TOPIC)
          when :payload, :key then value.nil? || value.is_a?(String)
          when :partition then value.nil? || (value.is_a?(Integer) && value.between?(-1, (2**31) - 1))
          when :timestamp then value.nil? || milliseconds?(value)
          else value.nil? || value.is_a?(Hash)
          end
        end

        def self.milliseconds?(value)
          case value
          when Integer then value.between?(0, MOST_MILLISECONDS)
          when Time then value.to_i.between?(0, MOST_MILLISECONDS / 1000)
          end
        end

        private_class_method :check_header!, :given, :allowed?, :milliseconds?

        private

        # Called for what cannot be sent.
        def refuse(message)
          Sender.check!(message)
          raise Guildhall::ArgumentError, "this message cannot be sent: #{message.keys.join(", ")}"
        end
      end

      # A producer of librdkafka's, and the thread that takes its reports. Any thread of the process that has opened it.
      #
      # What becomes of messages and of the connection, the listener is told in a thread of its own, made when it is needed: it may
      # produce, and wait for that, which is delivered meanwhile. Lines of the log and statistics it gets in the thread that takes the
      # reports, so that they are taken no faster than they are written.
      # @api private
      class Client
        EVENTS = 0x1 | 0x4 | 0x8 | 0x40 | 0x100 # deliveries, log, errors, statistics, tokens
        POLL_SECONDS = 1
        CLOSE_SECONDS = 0.5 # that librdkafka takes to end, after what could not be delivered was dropped
        METADATA_MS = 5_000
        SLICE_MS = 100 # so that a thread that waits can be interrupted
        ERROR_BYTES = 512
        THREAD_NAME = "guildhall producer"
        LISTENER_NAME = "guildhall producer's events"
        EVENTS_AT_ONCE = 100_000 # that wait for the listener: as many messages as librdkafka keeps unless it is told otherwise
        private_constant :THREAD_NAME, :LISTENER_NAME, :EVENTS_AT_ONCE, :METADATA_MS, :EVENTS, :POLL_SECONDS, :CLOSE_SECONDS, :SLICE_MS,
          :ERROR_BYTES

        # @return [Boolean] whether a producer's listener is called in this thread: closing the producer waits for it
        def self.calls_back?(thread) = thread.name == LISTENER_NAME

        # Connects to no broker yet.
        # @param settings [Hash{Symbol=>Object}] librdkafka's
        # @yieldparam event [Array] as {Sender#poll} has it; one after the other, in threads of its own
        # @raise [Rdkafka::Config::ConfigError, Rdkafka::Config::ClientCreationError]
        def initialize(settings, &listener)
          @listener = listener
          @handle = connect(settings)
          @sender = Sender.for(@handle)
          @lock = Mutex.new
          @users = 0
          @transactional = settings.key?(:"transactional.id")
          @events = Thread::SizedQueue.new(EVENTS_AT_ONCE)
          @thread = own_thread(THREAD_NAME) { take_reports }
          @tokens = Tokens.keeper(settings)
          @tokens&.add(self)
        end

        # Does not wait for a broker: see {Sender#hand_over}.
        def hand_over(...) = @sender.hand_over(...)

        # @return [Integer] messages that are not delivered yet
        def queue_size = with_handle { |handle| Rdkafka::Bindings.rd_kafka_outq_len(handle) }

        # Blocks until all messages are delivered, or the time is over.
        # @param limit [Float] of the {Clock}
        # @yieldparam left [Integer] messages that are not delivered yet
        # @yieldreturn [Boolean] whether that is enough
        # @return [Boolean] whether they are, or it was
        def flush(limit)
          with_handle do |handle|
            until Broker::Librdkafka.rd_kafka_flush(handle, [SLICE_MS, (Clock.left(limit) * 1000).ceil].min).zero?
              return true if block_given? && yield(Rdkafka::Bindings.rd_kafka_outq_len(handle))
              return false if Clock.now >= limit
            end
          end
          true
        end

        # Drops what is not delivered: those messages fail.
        def purge = with_handle { |handle| Rdkafka::Bindings.rd_kafka_purge(handle, 3) }

        # Blocks for a broker's answer.
        # @return [Integer, nil] nil: there is no such topic
        # @raise [ProduceError] where no broker says it
        def partition_count(topic)
          code, topics = with_handle { |handle| Broker::Librdkafka.metadata(handle, METADATA_MS, topic) }
          _, code, partitions = topics.first if code.zero?
          return partitions.size if code.zero?

          raise ProduceError.of(code, topic) unless Broker::Errors.kind(code) == :missing
        end

        # Calls the block with the handle, which is not destroyed meanwhile.
        # @raise [Rdkafka::ClosedInnerError]
        def with_handle
          counted = 0
          @users += (counted = 1) # Ruby interrupts a thread at calls and branches: there are none before it is noted that it was counted
          handle = @handle or raise Rdkafka::ClosedInnerError
          yield handle
        ensure
          @users -= counted
        end

        # Delivers what was handed over, drops what could not be delivered in time, and closes. Blocks until then.
        # @param deadline [Float] of the {Clock}
        # @yieldparam left [Integer] messages that are not delivered yet
        # @yieldreturn [Boolean] whether they are to be dropped at once
        # @return [Boolean] whether everything was delivered, but for that
        def close(deadline, &)
          delivered = flush(deadline - CLOSE_SECONDS, &)
          drop(Clock.now + CLOSE_SECONDS)
          # In a thread of its own: one that is killed meanwhile would leave the client behind.
          ending = Thread.new { destroy(deadline) }
          ending.name = "#{THREAD_NAME}'s end"
          ending.join unless Thread.current.equal?(@thread) # that it waits for
          @listening&.join([Clock.left(deadline), CLOSE_SECONDS].max) unless @listening.equal?(Thread.current)
          delivered
        rescue Rdkafka::ClosedInnerError
          true
        end

        private

        def destroy(deadline)
          handle = @lock.synchronize { @handle.tap { @handle = nil } } or return
          @tokens&.remove(self)
          sleep(SLICE_MS / 10_000.0) until @users.zero?
          abort_transaction(handle) if @transactional
          end_thread
          @sender.close
          Broker::NativeClient.destroy(handle, [Clock.left(deadline), CLOSE_SECONDS].max)
          @events.close # what has happened until then is told before {#close} returns
        end

        # Of one that is open. Readers need not wait until it is over; and librdkafka, which tells the coordinator of a transaction's
        # partitions in a thread of its own, must not be destroyed meanwhile: an assertion fails, which ends the process.
        def abort_transaction(handle)
          error = Rdkafka::Bindings.rd_kafka_abort_transaction(handle, (CLOSE_SECONDS * 1000).to_i)
          Rdkafka::Bindings.rd_kafka_error_destroy(error) unless error.null? # none is open, or no broker answers
        end

        def drop(limit)
          return if queue_size.zero?

          purge
          flush(limit)
        end

        def connect(settings)
          config = Rdkafka::Bindings.rd_kafka_conf_new
          error = FFI::MemoryPointer.new(:char, ERROR_BYTES)
          {**Tokens.without(settings), "log.queue": true}.each do |name, value|
            answer = Rdkafka::Bindings.rd_kafka_conf_set(config, name.to_s, value.to_s, error, ERROR_BYTES)
            raise Rdkafka::Config::ConfigError, error.read_string unless answer == :config_ok
          end
          Broker::Librdkafka.rd_kafka_conf_set_events(config, EVENTS)
          handle = Rdkafka::Bindings.rd_kafka_new(:rd_kafka_producer, config, error, ERROR_BYTES)
          raise Rdkafka::Config::ClientCreationError, error.read_string if handle.null?

          config = nil # librdkafka's own from now on
          Rdkafka::Bindings.rd_kafka_set_log_queue(handle, nil)
          Broker::Librdkafka.keep # a process may end without closing it
          handle
        ensure
          Rdkafka::Bindings.rd_kafka_conf_destroy(config) if config
        end

        # A child that is forked makes a client of its own: Puma, which looks for this variable, need not warn of the thread.
        def own_thread(name, &)
          Thread.new(&).tap do |thread|
            thread.name = name
            thread.thread_variable_set(:fork_safe, true)
          end
        end

        def take_reports
          tell(@sender.poll(POLL_SECONDS)) until @ending
          tell(@sender.poll(0))
        end

        # A listener that is slower than the messages fail holds this thread up, and the queue of messages, in the end, those who produce.
        def tell(events)
          events.each do |event|
            next call_listener(event) if %i[log statistics].include?(event.first)

            @listening ||= own_thread(LISTENER_NAME) { call_listener(@events.pop) until @events.closed? && @events.empty? }
            @events << event
          end
        rescue ::ClosedQueueError # Ruby's: the queue is one of threads
          nil # the producer is being closed, and the listener does not return
        end

        # Whatever it raises.
        def call_listener(event)
          report = ->(error) { warn("guildhall: a producer's listener: #{error.class}: #{ErrorBoundary.message(error)}") }
          ErrorBoundary.run(report) { @listener.call(event) } if event # nil: the queue was closed
        end

        def end_thread
          @ending = true
          @sender.wake
          @thread.join(CLOSE_SECONDS) || @events.close
          @thread.join
        end
      end
    end
  end
end
