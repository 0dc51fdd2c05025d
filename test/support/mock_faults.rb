# frozen_string_literal: true

require "guildhall/kafka/testing"

# Faults of the embedded broker: librdkafka's mock cluster answers as it is told to.
class MockFaults
  extend FFI::Library

  ffi_lib(*Rdkafka::Bindings.ffi_libraries.map(&:name))
  attach_function :rd_kafka_mock_topic_set_error, %i[pointer string int], :void
  attach_function :rd_kafka_mock_partition_set_leader, %i[pointer string int32 int32], :int
  attach_function :rd_kafka_mock_push_request_errors_array, %i[pointer int16 size_t pointer], :void
  attach_function :rd_kafka_mock_clear_request_errors, %i[pointer int16], :void
  attach_function :rd_kafka_mock_broker_set_down, %i[pointer int32], :int
  attach_function :rd_kafka_mock_broker_set_rtt, %i[pointer int32 int], :int
  attach_function :rd_kafka_mock_coordinator_set, %i[pointer string string int32], :int
  attach_function :rd_kafka_mock_start_request_tracking, %i[pointer], :void
  attach_function :rd_kafka_mock_get_requests, %i[pointer pointer], :pointer
  attach_function :rd_kafka_mock_request_api_key, %i[pointer], :int16
  attach_function :rd_kafka_mock_request_destroy_array, %i[pointer size_t], :void

  PRODUCE = 0
  LIST_OFFSETS = 2
  OFFSET_COMMIT = 8
  OFFSET_FETCH = 9
  FIND_COORDINATOR = 10
  CREATE_TOPICS = 19
  ADD_PARTITIONS_TO_TRANSACTION = 24
  END_TRANSACTION = 26
  TRANSACTION_OFFSET_COMMIT = 28

  # @param broker [Guildhall::Kafka::Testing::EmbeddedBroker]
  def initialize(broker)
    @cluster = broker.instance_variable_get(:@cluster)
  end

  # @param code [Integer] 0: none any more
  def topic_error(name, code) = self.class.rd_kafka_mock_topic_set_error(@cluster, name, code)

  # @param leader [Integer] -1: none
  def leader(topic, partition, leader) = self.class.rd_kafka_mock_partition_set_leader(@cluster, topic, partition, leader)

  # @param broker [Integer] its number, from 1
  def down(broker) = self.class.rd_kafka_mock_broker_set_down(@cluster, broker)

  # Its answers take a minute.
  def slow(broker) = self.class.rd_kafka_mock_broker_set_rtt(@cluster, broker, 60_000)

  def quick(broker) = self.class.rd_kafka_mock_broker_set_rtt(@cluster, broker, 0)

  # @param broker [Integer] which one coordinates the group
  def coordinator(group, broker) = self.class.rd_kafka_mock_coordinator_set(@cluster, "group", group, broker)

  # Of the next requests of that kind, behind some that are answered.
  def refuse(request, code, times: 1_000, after: 0)
    codes = FFI::MemoryPointer.new(:int, after + times).write_array_of_int([0] * after + [code] * times)
    self.class.rd_kafka_mock_push_request_errors_array(@cluster, request, after + times, codes)
  end

  # @return [Array<Integer>] of the requests that come while the block runs, the kinds
  def requests
    self.class.rd_kafka_mock_start_request_tracking(@cluster)
    yield
    count = FFI::MemoryPointer.new(:size_t)
    list = self.class.rd_kafka_mock_get_requests(@cluster, count)
    list.read_array_of_pointer(count.read(:size_t)).map { |request| self.class.rd_kafka_mock_request_api_key(request) }
  ensure
    self.class.rd_kafka_mock_request_destroy_array(list, count.read(:size_t)) if list
  end

  def accept(request) = self.class.rd_kafka_mock_clear_request_errors(@cluster, request)
end
