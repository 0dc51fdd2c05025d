# frozen_string_literal: true

begin
  require "rdkafka"
rescue LoadError => error
  raise Guildhall::MissingDependencyError, "Kafka needs the gem karafka-rdkafka (#{error.message}): add it to the Gemfile"
end

module Guildhall
  module Kafka
    # The functions of librdkafka that karafka-rdkafka does not attach itself, from the very library that it has
    # loaded: there is one librdkafka in the process.
    module Librdkafka
      extend FFI::Library

      ffi_lib(*Rdkafka::Bindings.ffi_libraries.map(&:name))

      PARTITION_EOF = -191
      TIMED_OUT = -185
      FATAL = -150
      UNKNOWN_TOPIC_OR_PART = 3
      NO_OFFSET = -1001

      attach_function :rd_kafka_queue_get_partition, %i[pointer string int32], :pointer
      attach_function :rd_kafka_queue_forward, %i[pointer pointer], :void
      attach_function :rd_kafka_queue_io_event_enable, %i[pointer int pointer size_t], :void
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
      # The gem's own does not give up the GVL.
      attach_function :rd_kafka_destroy, %i[pointer], :void, blocking: true

      # Ruby unloads the library when it ends; threads of a client that could not be closed would find no code any more.
      module Loader
        extend FFI::Library

        ffi_lib FFI::CURRENT_PROCESS
        attach_function :dlopen, %i[string int], :pointer
      end
      private_constant :Loader

      # From now on the library stays until the process has ended.
      # @return [void]
      def self.keep
        Loader.dlopen(ffi_libraries.first.name, FFI::DynamicLibrary::RTLD_LAZY)
      end

      # What the native reader calls, in the order of its struct (ext/guildhall_kafka/librdkafka.h).
      NATIVE = %w[
        rd_kafka_consume_batch_queue rd_kafka_message_destroy rd_kafka_message_timestamp rd_kafka_message_headers
        rd_kafka_header_get_all rd_kafka_topic_name rd_kafka_message_errstr rd_kafka_queue_get_consumer
        rd_kafka_queue_get_partition rd_kafka_queue_forward rd_kafka_queue_destroy rd_kafka_queue_cb_event_enable
      ].freeze

      # @return [Array<Integer>] the addresses of {NATIVE}
      # @raise [Guildhall::Error] when the library has no such function
      def self.addresses
        library = ffi_libraries.first
        NATIVE.map do |name|
          function = library.find_symbol(name)
          raise Guildhall::Error, "librdkafka #{Rdkafka::LIBRDKAFKA_VERSION} has no #{name}" unless function

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
