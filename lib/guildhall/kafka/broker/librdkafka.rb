# frozen_string_literal: true

require_relative "../errors"

begin
  require "rdkafka"
rescue LoadError => error
  raise Guildhall::MissingDependencyError, "Kafka needs the gem karafka-rdkafka (#{error.message}): add it to the Gemfile"
end
# The gem rdkafka has the same files and constants, but no transactions. The first of the two that is loaded is the only one.
unless Rdkafka::Producer.method_defined?(:begin_transaction)
  raise Guildhall::MissingDependencyError,
    "the gem rdkafka is loaded in the place of karafka-rdkafka, which Kafka needs, and a process can have one of them: keep racecar, " \
    "or what else needs rdkafka, out of this process's Gemfile"
end

module Guildhall
  module Kafka
    module Broker
      # Attaches the functions of librdkafka that karafka-rdkafka does not attach, from the library that it has loaded: a process has
      # one librdkafka.
      # @api private
      module Librdkafka
        extend FFI::Library

        ffi_lib(*Rdkafka::Bindings.ffi_libraries.map(&:name))

        # Error codes of librdkafka. {Errors} lists what each means for us.
        PARTITION_EOF = -191
        UNKNOWN_PARTITION = -190
        INVALID_ARGUMENT = -186
        TIMED_OUT = -185
        QUEUE_FULL = -184
        SSL = -181
        WAIT_COORD = -180
        AUTHENTICATION = -169
        NO_OFFSET_YET = -168
        UNSUPPORTED_FEATURE = -165
        FATAL = -150
        UNKNOWN_TOPIC_OR_PART = 3
        LEADER_NOT_AVAILABLE = 5
        TOPIC_AUTHORIZATION_FAILED = 29
        # In an offset's place.
        NO_OFFSET = -1001

        attach_function :rd_kafka_queue_destroy, %i[pointer], :void
        attach_function :rd_kafka_conf_set_stats_cb, %i[pointer pointer], :void
        attach_function :rd_kafka_conf_set_error_cb, %i[pointer pointer], :void
        attach_function :rd_kafka_conf_set_events, %i[pointer int], :void
        attach_function :rd_kafka_flush, %i[pointer int], :int, blocking: true
        attach_function :rd_kafka_get_watermark_offsets, %i[pointer string int32 pointer pointer], :int
        # The gem's own releases the GVL, although it does not block: who asks for many partitions would wait for the GVL as often. Both
        # wait for librdkafka's locks, for a moment only: none of its threads needs the GVL while it has one; what they log is queued.
        attach_function :rd_kafka_position, %i[pointer pointer], :int
        # These wait until librdkafka's main thread has answered, however long that takes.
        attach_function :rd_kafka_rebalance_protocol, %i[pointer], :string, blocking: true
        attach_function :rd_kafka_assign, %i[pointer pointer], :int, blocking: true
        attach_function :rd_kafka_incremental_assign, %i[pointer pointer], :pointer, blocking: true
        attach_function :rd_kafka_incremental_unassign, %i[pointer pointer], :pointer, blocking: true
        attach_function :rd_kafka_queue_new, %i[pointer], :pointer
        attach_function :rd_kafka_queue_poll, %i[pointer int], :pointer, blocking: true
        attach_function :rd_kafka_event_error, %i[pointer], :int
        attach_function :rd_kafka_event_destroy, %i[pointer], :void
        attach_function :rd_kafka_commit_queue, %i[pointer pointer pointer pointer pointer], :int
        attach_function :rd_kafka_consumer_close_queue, %i[pointer pointer], :pointer
        attach_function :rd_kafka_consumer_closed, %i[pointer], :int
        attach_function :rd_kafka_controllerid, %i[pointer int], :int32, blocking: true
        attach_function :rd_kafka_fatal_error, %i[pointer pointer size_t], :int
        attach_function :rd_kafka_set_log_level, %i[pointer int], :void
        attach_function :rd_kafka_consumer_group_metadata_new, %i[string], :pointer
        attach_function :rd_kafka_conf_properties_show, %i[pointer], :void
        attach_function :rd_kafka_ConfigEntry_source, %i[pointer], :int
        attach_function :rd_kafka_oauthbearer_set_token, %i[pointer string int64 string pointer size_t pointer size_t], :int, blocking: true
        # The gem's own keeps the GVL while it blocks.
        attach_function :rd_kafka_destroy, %i[pointer], :void, blocking: true

        # Functions of C's own library.
        module LibC
          extend FFI::Library

          ffi_lib FFI::CURRENT_PROCESS
          attach_function :dlopen, %i[string int], :pointer
          attach_function :open_memstream, %i[pointer pointer], :pointer
          attach_function :fclose, %i[pointer], :int
          attach_function :free, %i[pointer], :void
        end
        private_constant :LibC

        # Keeps the library loaded until the process has ended. Ruby unloads it when Ruby ends; threads of a client that could not be
        # closed would run into code that is gone.
        def self.keep = LibC.dlopen(ffi_libraries.first.name, FFI::DynamicLibrary::RTLD_LAZY)

        # Hands a token to a client, which logs in with it from then on. Does not wait for a broker.
        # @param token [Tokens::Token]
        # @return [Integer] librdkafka's code: its text would quote the token
        def self.set_token(handle, token)
          texts = token.extensions.flatten.map { |text| FFI::MemoryPointer.from_string(text) }
          list = FFI::MemoryPointer.new(:pointer, [texts.size, 1].max).write_array_of_pointer(texts)
          unread = FFI::MemoryPointer.new(:char, TEXT_BYTES)
          rd_kafka_oauthbearer_set_token(handle, token.value, (token.expires_at * 1000).to_i, token.principal, list, texts.size,
            unread, TEXT_BYTES)
        end

        TEXT_BYTES = 512
        private_constant :TEXT_BYTES

        # @return [Array<Integer>] of the functions with these names, for C
        # @raise [LibrdkafkaError] when the library lacks one of them
        def self.addresses(names)
          names.map do |name|
            function = ffi_libraries.first.find_symbol(name)
            raise LibrdkafkaError, "librdkafka #{Rdkafka::LIBRDKAFKA_VERSION} has no #{name}" unless function

            function.address
          end
        end

        # @return [Array<String>] all settings that librdkafka documents, for clients and for topics; the gem lists only those that have a
        #   default
        def self.property_names
          text = FFI::MemoryPointer.new(:pointer)
          bytes = FFI::MemoryPointer.new(:size_t)
          file = LibC.open_memstream(text, bytes)
          rd_kafka_conf_properties_show(file)
          LibC.fclose(file)
          text.read_pointer.read_bytes(bytes.read(:size_t)).scan(/^([a-z._]+) +\|/).flatten.uniq
        ensure
          LibC.free(text.read_pointer) # NULL is freed as well
        end

        # Answers a rebalance. What librdkafka does not accept, it logs.
        # @param assigned [Boolean] whether the partitions are taken, or given up
        # @param list [FFI::Pointer] of partitions, as librdkafka gave it
        # @return [void]
        def self.answer_rebalance(handle, list, assigned:)
          if rd_kafka_rebalance_protocol(handle) == "COOPERATIVE"
            error = assigned ? rd_kafka_incremental_assign(handle, list) : rd_kafka_incremental_unassign(handle, list)
            Rdkafka::Bindings.rd_kafka_error_destroy(error) unless error.null?
          else
            rd_kafka_assign(handle, assigned ? list : FFI::Pointer::NULL)
          end
        end

        # @param topics [Hash{String=>Array<Rdkafka::Consumer::Partition>}]
        # @yieldparam list [FFI::Pointer, nil] usable until the block ends; nil: of no topic
        def self.with_list(topics)
          list = topics.empty? ? nil : Rdkafka::Consumer::TopicPartitionList.new(topics).to_native_tpl
          yield list
        ensure
          Rdkafka::Bindings.rd_kafka_topic_partition_list_destroy(list) if list
        end

        # @return [Integer, nil] the offset behind the last message that the consumer has handed out; nil: it has handed out none
        def self.position(handle, topic, partition)
          list = Rdkafka::Bindings.rd_kafka_topic_partition_list_new(1)
          place = Rdkafka::Bindings.rd_kafka_topic_partition_list_add(list, topic, partition)
          return unless rd_kafka_position(handle, list).zero?

          offset = Rdkafka::Bindings::TopicPartition.new(place)[:offset]
          offset unless offset.negative?
        ensure
          Rdkafka::Bindings.rd_kafka_topic_partition_list_destroy(list)
        end

        # Asks for topics. The gem's own way fails as a whole where one topic has an error. Blocks for a broker's answer.
        # @param name [String, nil] of one topic; nil: all topics
        # @return [Array(Integer, Array<Array(String, Integer, Hash{Integer=>Integer | nil})>)] librdkafka's code; of each topic its name,
        #   its code, and by partition the id of the broker that leads it, nil where none does that is there
        def self.metadata(handle, timeout_ms, name = nil)
          answer = FFI::MemoryPointer.new(:pointer)
          topic = name && Rdkafka::Bindings.rd_kafka_topic_new(handle, name, nil)
          return [INVALID_ARGUMENT, []] if topic&.null?

          code = Rdkafka::Bindings.rd_kafka_metadata(handle, name ? 0 : 1, topic, answer, timeout_ms)
          return [code, []] unless code.zero?

          native = Rdkafka::Metadata::Metadata.new(answer.read_pointer)
          brokers = structs(native[:brokers_metadata], native[:brokers_count], Rdkafka::Metadata::BrokerMetadata)
          topics = structs(native[:topics_metadata], native[:topics_count], Rdkafka::Metadata::TopicMetadata)
          ids = brokers.map { |broker| broker[:broker_id] }
          [code, topics.map { |topic_metadata| described(topic_metadata, ids) }]
        ensure
          Rdkafka::Bindings.rd_kafka_topic_destroy(topic) if topic && !topic.null?
          Rdkafka::Bindings.rd_kafka_metadata_destroy(native.to_ptr) if native
        end

        # A partition's own code may be about a replica; its leader says whether it can be used.
        def self.described(topic, brokers)
          partitions = structs(topic[:partitions_metadata], topic[:partition_count], Rdkafka::Metadata::PartitionMetadata)
          leaders = partitions.to_h { |one| [one[:partition_id], (one[:leader] if brokers.include?(one[:leader]))] }
          [topic[:topic_name].dup, topic[:rd_kafka_resp_err], leaders.sort.to_h]
        end

        def self.structs(pointer, count, klass) = Array.new(count) { |index| klass.new(pointer + (index * klass.size)) }
        private_class_method :described, :structs
      end
    end
  end
end
