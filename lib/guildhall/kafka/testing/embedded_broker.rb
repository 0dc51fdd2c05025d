# frozen_string_literal: true

require_relative "../broker/admin_client"
require_relative "../broker/librdkafka"
require_relative "../broker/session"
require_relative "../producing/transactional_producer"

module Guildhall
  module Kafka
    module Testing
      # A broker inside this process, for tests and demonstrations: librdkafka's mock cluster, which speaks the real
      # protocol over loopback, with consumer groups, offset commits and transactions.
      #
      # It keeps about 5 MB a partition and silently drops the oldest beyond that: {#verify_complete!} finds out. Topics
      # cannot be created over the admin protocol, only with {#create_topic}. With the classic protocol, after a member has left, its
      # group takes the members' `session.timeout.ms` to start again: set it low where that matters. Offsets cannot be looked up by time.
      #
      #     Guildhall::Kafka::Testing::EmbeddedBroker.start do |broker|
      #       broker.create_topic("orders", partitions: 5)
      #       config.kafka = {"bootstrap.servers": broker.bootstrap_servers}
      #     end
      class EmbeddedBroker
        # What the mock cluster needs beyond {Broker::Librdkafka}.
        module Functions
          extend FFI::Library

          ffi_lib(*Rdkafka::Bindings.ffi_libraries.map(&:name))
          attach_function :rd_kafka_mock_cluster_new, %i[pointer int], :pointer, blocking: true
          attach_function :rd_kafka_mock_cluster_bootstraps, %i[pointer], :string
          attach_function :rd_kafka_mock_cluster_destroy, %i[pointer], :void, blocking: true
          attach_function :rd_kafka_mock_topic_create, %i[pointer string int int], :int, blocking: true
          attach_function :rd_kafka_mock_broker_set_down, %i[pointer int32], :int, blocking: true
          attach_function :rd_kafka_mock_group_initial_rebalance_delay_ms, %i[pointer int32], :void, blocking: true
          attach_function :rd_kafka_brokers_add, %i[pointer string], :int
          attach_function :rd_kafka_mock_broker_set_up, %i[pointer int32], :int, blocking: true
        end

        # The address of one, and what creates its topics.
        # @!visibility private
        class Address < String
          attr_reader :broker

          def initialize(text, broker)
            super(text)
            @broker = broker
            freeze
          end
        end

        # Creates topics of embedded brokers: their cluster answers no request to do so, and a client that has sent one cannot be closed.
        module Creating
          # A topic that is there, be it that another listener was faster.
          Created = Data.define { def wait(**) = self }

          def initialize(settings)
            super
            @address = settings[:"bootstrap.servers"]
          end

          def create_topic(name, partitions, settings = {}, replicas = Broker::AdminClient::BROKERS_DEFAULT)
            return super unless @address.is_a?(Address)

            begin
              @address.broker.create_topic(name, partitions: [partitions, 1].max)
            rescue EmbeddedBrokerError
              nil
            end
            Created.new
          end
        end
        Broker::AdminClient.prepend(Creating)

        # Commits what is sent to a transaction for a group without members, once that is committed: the mock cluster forgets it.
        module KeepingOffsets
          def begin_transaction = super.tap { @kept_offsets = [] }

          def send_offset(topic, partition)
            group = nil
            super { yield.tap { |metadata| group = metadata.group } }
            @kept_offsets << [group, topic, partition] if group && @settings[:"bootstrap.servers"].is_a?(Address)
          end

          def commit_transaction
            super
            @kept_offsets.each do |group, topic, partition|
              Broker::Session.open({"bootstrap.servers": @settings[:"bootstrap.servers"], "group.id": group}) do |session|
                session.commit(topic, partition.partition, partition.offset, partition.metadata)
              end
            end
          end
        end
        Producing::TransactionalProducer.prepend(KeepingOffsets)
        private_constant :Functions, :Creating, :KeepingOffsets

        # Without a block it ends with the process, at the latest.
        # @yieldparam broker [EmbeddedBroker] stopped when the block ends
        # @return [EmbeddedBroker, Object] the running broker; with a block, what the block returns
        def self.start(brokers: 1)
          broker = new(brokers:)
          return broker unless block_given?

          begin
            yield broker
          ensure
            broker.stop
          end
        end

        # @return [String] for the setting `bootstrap.servers`
        attr_reader :bootstrap_servers

        def initialize(brokers: 1)
          @brokers = brokers
          @handle = create_handle
          @cluster = Functions.rd_kafka_mock_cluster_new(@handle, brokers)
          raise EmbeddedBrokerError, "librdkafka could not start its mock cluster" if @cluster.null?

          @bootstrap_servers = Address.new(Functions.rd_kafka_mock_cluster_bootstraps(@cluster), self)
          Functions.rd_kafka_mock_group_initial_rebalance_delay_ms(@cluster, 0) # no other member is about to join
          Functions.rd_kafka_brokers_add(@handle, @bootstrap_servers) # for its own questions about watermarks
          owner = Process.pid
          # Ruby unloads librdkafka when it ends: threads that still ran there would crash the process.
          at_exit { stop if Process.pid == owner }
        end

        # @raise [EmbeddedBrokerError] when it is there already
        def create_topic(name, partitions: 1)
          code = Functions.rd_kafka_mock_topic_create(@cluster, name, partitions, @brokers)
          raise EmbeddedBrokerError, "topic #{name} was not created: #{Broker::Errors.name_of(code)}" unless code.zero?
        end

        # Blocks for the round trip to the broker.
        # @return [Array(Integer, Integer)] the first offset that is there, and the one the next message will get
        def watermarks(topic, partition)
          low = FFI::MemoryPointer.new(:int64)
          high = FFI::MemoryPointer.new(:int64)
          code = Rdkafka::Bindings.rd_kafka_query_watermark_offsets(@handle, topic, partition, low, high, 10_000)
          raise EmbeddedBrokerError, "no watermarks of #{topic}/#{partition}: #{Broker::Errors.name_of(code)}" unless code.zero?

          [low.read_int64, high.read_int64]
        end

        # @return [Integer] how many messages are there
        # @raise [EmbeddedBrokerError] when some were dropped because a partition had grown beyond 5 MB
        def verify_complete!(topic, partitions:)
          (0...partitions).sum do |partition|
            low, high = watermarks(topic, partition)
            raise EmbeddedBrokerError, "#{topic}/#{partition} lost #{low} messages: use more partitions" if low.positive?

            high
          end
        end

        # Makes every broker unreachable until {#resume}; what was stored stays.
        def suspend = @brokers.times { |index| Functions.rd_kafka_mock_broker_set_down(@cluster, index + 1) }

        def resume = @brokers.times { |index| Functions.rd_kafka_mock_broker_set_up(@cluster, index + 1) }

        # Ends the broker; a second call does nothing. Close its clients first: they would look for it for ever.
        def stop
          return unless @cluster

          cluster = @cluster
          @cluster = nil
          Functions.rd_kafka_mock_cluster_destroy(cluster)
          Rdkafka::Bindings.rd_kafka_destroy(@handle)
        end

        private

        def create_handle
          config = Rdkafka::Bindings.rd_kafka_conf_new
          error = FFI::MemoryPointer.new(:char, 256)
          # It would complain of having no brokers, which at first is so, and of losing them at the end. No callback
          # into Ruby either: one that waits for the GVL while the handle is destroyed would wait for ever.
          Rdkafka::Bindings.rd_kafka_conf_set(config, "log_level", "0", error, 256)
          handle = Rdkafka::Bindings.rd_kafka_new(:rd_kafka_producer, config, error, 256)
          raise EmbeddedBrokerError, error.read_string if handle.null?

          handle
        end
      end
    end
  end
end
