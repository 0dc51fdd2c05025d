# frozen_string_literal: true

require_relative "../errors"

begin
  require "rdkafka"
rescue LoadError => error
  raise Guildhall::MissingDependencyError, "Kafka needs the gem karafka-rdkafka (#{error.message}): add it to the Gemfile"
end

module Guildhall
  module Kafka
    module Connection
      # Attaches the functions of librdkafka that karafka-rdkafka does not, from the library that it has loaded: there is
      # one librdkafka in the process.
      module Librdkafka
        extend FFI::Library

        ffi_lib(*Rdkafka::Bindings.ffi_libraries.map(&:name))

        PARTITION_EOF = -191
        TIMED_OUT = -185
        FATAL = -150
        UNKNOWN_TOPIC_OR_PART = 3
        TOPIC_AUTHORIZATION_FAILED = 29
        NO_OFFSET = -1001
        # The group has no coordinator for a moment, or the coordinator still reads what it has to know.
        COORDINATOR_CHANGES = %i[not_coordinator coordinator_not_available coordinator_load_in_progress].freeze
        # Errors that pass: the same request may succeed later.
        RETRIABLE = [:transport, :timed_out, :wait_coord, :timed_out_queue, :request_timed_out, :network_exception,
                     *COORDINATOR_CHANGES].freeze
        # Answers to a commit after which there is nothing to do: nothing to commit, a rebalance that settles it, a topic that was
        # deleted.
        COMMIT_SETTLED = %i[no_offset rebalance_in_progress illegal_generation unknown_member_id assignment_lost
                            unknown_topic_or_part].freeze

        # @param code [Integer]
        # @return [Boolean] whether the error passes
        def self.retriable?(code)
          RETRIABLE.include?(Rdkafka::RdkafkaError.new(code).code)
        end

        # librdkafka says what failed, and not where.
        # @param settings [Hash{Symbol=>Object}]
        # @param detail [String]
        # @return [String] for an error
        def self.unanswered(settings, detail)
          servers = settings[:"bootstrap.servers"] || settings[:"metadata.broker.list"]
          "Kafka at #{servers} does not answer (#{detail}): check that a broker listens there, and bootstrap.servers"
        end

        attach_function :rd_kafka_queue_destroy, %i[pointer], :void
        attach_function :rd_kafka_conf_set_stats_cb, %i[pointer pointer], :void
        attach_function :rd_kafka_get_watermark_offsets, %i[pointer string int32 pointer pointer], :int
        attach_function :rd_kafka_queue_new, %i[pointer], :pointer
        attach_function :rd_kafka_queue_poll, %i[pointer int], :pointer, blocking: true
        attach_function :rd_kafka_event_error, %i[pointer], :int
        attach_function :rd_kafka_event_destroy, %i[pointer], :void
        attach_function :rd_kafka_commit_queue, %i[pointer pointer pointer pointer pointer], :int
        attach_function :rd_kafka_consumer_close_queue, %i[pointer pointer], :pointer
        attach_function :rd_kafka_consumer_closed, %i[pointer], :int
        attach_function :rd_kafka_fatal_error, %i[pointer pointer size_t], :int
        attach_function :rd_kafka_set_log_level, %i[pointer int], :void
        attach_function :rd_kafka_conf_properties_show, %i[pointer], :void
        # The gem's own does not give up the GVL.
        attach_function :rd_kafka_destroy, %i[pointer], :void, blocking: true

        # Ruby unloads the library when it ends; threads of a client that could not be closed would find no code any more.
        module Loader
          extend FFI::Library

          ffi_lib FFI::CURRENT_PROCESS
          attach_function :dlopen, %i[string int], :pointer
        end

        # A file of C's, in memory.
        module Stream
          extend FFI::Library

          ffi_lib FFI::CURRENT_PROCESS
          attach_function :open_memstream, %i[pointer pointer], :pointer
          attach_function :fclose, %i[pointer], :int
          attach_function :free, %i[pointer], :void

          # @yieldparam file [FFI::Pointer] a FILE
          # @return [String] what was written to it
          def self.read
            text = FFI::MemoryPointer.new(:pointer)
            bytes = FFI::MemoryPointer.new(:size_t)
            file = open_memstream(text, bytes)
            yield file
            fclose(file)
            text.read_pointer.read_bytes(bytes.read(:size_t))
          ensure
            free(text.read_pointer) # NULL is freed as well
          end
        end
        private_constant :Loader, :Stream

        # From now on the library stays until the process has ended.
        # @return [void]
        def self.keep
          Loader.dlopen(ffi_libraries.first.name, FFI::DynamicLibrary::RTLD_LAZY)
        end

        # The gem's own list has only those that have a default.
        # @return [Array<String>] all settings that librdkafka documents, for clients and for topics
        def self.property_names
          Stream.read { |file| rd_kafka_conf_properties_show(file) }.scan(/^([a-z._]+) +\|/).flatten.uniq
        end

        # The gem's own way fails as a whole where one topic has an error. Blocks for a broker's answer.
        # @param handle [FFI::Pointer]
        # @param timeout_ms [Integer]
        # @return [Hash{String=>Integer}, nil] all topics that there are, and how many partitions they have; nil: no broker has
        #   answered in time
        def self.partition_counts(handle, timeout_ms)
          answer = FFI::MemoryPointer.new(:pointer)
          return unless Rdkafka::Bindings.rd_kafka_metadata(handle, 1, nil, answer, timeout_ms).zero?

          native = Rdkafka::Metadata::Metadata.new(answer.read_pointer)
          topics = Array.new(native[:topics_count]) do |index|
            Rdkafka::Metadata::TopicMetadata.new(native[:topics_metadata] + (index * Rdkafka::Metadata::TopicMetadata.size))
          end
          topics.select { |topic| topic[:rd_kafka_resp_err].zero? || topic[:partition_count].positive? }
            .to_h { |topic| [topic[:topic_name].dup, topic[:partition_count]] }
        ensure
          Rdkafka::Bindings.rd_kafka_metadata_destroy(native.to_ptr) if native
        end

        # What the native reader calls, in the order of its struct (ext/guildhall_kafka/librdkafka.h).
        NATIVE = %w[
          rd_kafka_consume_batch_queue rd_kafka_message_destroy rd_kafka_message_timestamp rd_kafka_message_headers
          rd_kafka_header_get_all rd_kafka_topic_name rd_kafka_message_errstr rd_kafka_queue_get_consumer
          rd_kafka_queue_get_partition rd_kafka_queue_forward rd_kafka_queue_destroy rd_kafka_queue_cb_event_enable
        ].freeze

        # @return [Array<Integer>] the addresses of {NATIVE}
        # @raise [LibrdkafkaError] when the library has no such function
        def self.addresses
          library = ffi_libraries.first
          NATIVE.map do |name|
            function = library.find_symbol(name)
            raise LibrdkafkaError, "librdkafka #{Rdkafka::LIBRDKAFKA_VERSION} has no #{name}" unless function

            function.address
          end
        end

        # @param code [Integer]
        # @return [String] such as "_PARTITION_EOF"
        def self.error_name(code)
          Rdkafka::Bindings.rd_kafka_err2name(code)
        end
      end
    end
  end
end
