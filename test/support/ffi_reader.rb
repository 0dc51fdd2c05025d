# frozen_string_literal: true

require "guildhall/kafka"
require_relative "plain_record"

# Reads messages in Ruby, through karafka-rdkafka's bindings: what Guildhall::Kafka::Reading::Reader does in C. The tests of
# that one run on this one too: what both do the same way is no accident of the C code.
class FFIReader
  # What only this reader calls.
  module Functions
    extend FFI::Library

    ffi_lib(*Rdkafka::Bindings.ffi_libraries.map(&:name))
    attach_function :rd_kafka_queue_get_partition, %i[pointer string int32], :pointer
    attach_function :rd_kafka_queue_forward, %i[pointer pointer], :void
    attach_function :rd_kafka_queue_io_event_enable, %i[pointer int pointer size_t], :void
  end

  Librdkafka = Guildhall::Kafka::Broker::Librdkafka
  ReadError = Guildhall::Kafka::Reading::ReadError
  Clock = Guildhall::Clock
  BATCH = 1024

  # @param handle [FFI::Pointer] librdkafka's consumer
  def initialize(handle)
    @main = Rdkafka::Bindings.rd_kafka_queue_get_consumer(handle)
    @handle = handle
    @buffer = FFI::MemoryPointer.new(:pointer, BATCH)
    @read_io, @write_io = IO.pipe
    @queues = {}
    @released = []
    @first_queue = 0
    watch(@main)
  end

  # Takes the partition's messages from its own queue from now on.
  # @param topic [String]
  # @param partition [Integer]
  # @param owner [Object] stands beside the records in what {#take} returns
  # @param _codec [Codec, nil] not used: this reader does not decode
  # @return [FFIPartitionQueue]
  def open(topic, partition, owner, _codec = nil)
    pointer = Functions.rd_kafka_queue_get_partition(@handle, topic, partition)
    raise Guildhall::Kafka::LibrdkafkaError, "librdkafka has no queue for #{topic}/#{partition}" if pointer.null?

    Functions.rd_kafka_queue_forward(pointer, FFI::Pointer::NULL)
    watch(pointer)
    @queues[[topic, partition]] = FFIPartitionQueue.new(self, pointer, owner, [topic, partition])
  end

  # Blocks until there is a message, an error or a {#wake}, or the time is over. Rebalances happen in here.
  # @param timeout_ms [Integer]
  # @param messages [Integer, nil] about how many to take of all partitions together; 0: none; nil: what each allows
  # @param bytes [Integer, nil] and how many bytes
  # @return [Array(Array<Array(Object, Array<PlainRecord>, Integer)>, Array<ReadError>)] for each partition: its owner, records,
  #   and the bytes of their payloads
  def take(timeout_ms, messages = nil, bytes = nil)
    @room_messages = messages || Float::INFINITY
    @room_bytes = bytes || Float::INFINITY
    limit = Clock.now + (timeout_ms / 1000.0)
    loop do
      woken = interrupted?
      taken = take_now
      return taken if woken || taken.any?(&:any?) || (rest = limit - Clock.now) <= 0

      @read_io.wait_readable(rest)
    end
  end

  # Ends a {#take} that waits.
  # @return [void]
  def wake
    notify("w")
  end

  # @return [void]
  def close
    queues = @queues.values # closing takes them out of the Hash
    queues.each(&:close)
    destroy_released
    Functions.rd_kafka_queue_io_event_enable(@main, -1, nil, 0)
    Librdkafka.rd_kafka_queue_destroy(@main)
    [@read_io, @write_io].each(&:close)
  end

  # @!visibility private
  def notify(text)
    @write_io.write_nonblock(text, exception: false)
  rescue IOError
    # Closed meanwhile: nobody waits any more.
  end

  # @!visibility private
  def forget(queue)
    @queues.delete(queue.name)
    @released << queue.pointer # a rebalance happens while it may be read from, below us on the stack
  end

  private

  # A partition that went and came back within one take has two pointers here to one queue of librdkafka: the event
  # that the first one's release takes away is the second one's as well.
  def destroy_released
    return if @released.empty?

    while (pointer = @released.pop)
      Functions.rd_kafka_queue_io_event_enable(pointer, -1, nil, 0)
      Librdkafka.rd_kafka_queue_destroy(pointer)
    end
    @queues.each_value { |queue| watch(queue.pointer) }
  end

  # Empties the pipe.
  def interrupted?
    notes = @read_io.read_nonblock(4096, exception: false)
    notes != :wait_readable && notes.include?("w")
  end

  # The main queue first, until it is empty.
  def take_now
    destroy_released
    taken = Hash.new { |hash, queue| hash[queue] = [] }.compare_by_identity
    errors = []
    while read(@main, BATCH, taken, errors).positive?; end
    in_turn.each { |queue| empty(queue, taken, errors) unless queue.closed? }
    [taken.filter_map { |queue, records| [queue.owner, records, PlainRecord.bytes(records)] unless queue.closed? }, errors]
  end

  # Another one first each time: where there is not room for all, all get some in turn. A copy, for a rebalance may
  # change the Hash meanwhile.
  def in_turn
    @queues.values.rotate(@first_queue += 1)
  end

  def room?
    @room_messages.positive? && @room_bytes.positive?
  end

  def empty(queue, taken, errors)
    while room?
      wanted = [queue.fitting(taken.key?(queue) ? taken[queue].size : 0), BATCH].min
      break if wanted <= 0 || read(queue.pointer, wanted, taken, errors).zero?
    end
  end

  def read(pointer, limit, taken, errors)
    count = Rdkafka::Bindings.rd_kafka_consume_batch_queue(pointer, 0, @buffer, limit)
    count.times { |index| keep(@buffer.get_pointer(index * FFI::Pointer.size), taken, errors) }
    count
  end

  def keep(pointer, taken, errors)
    native = Rdkafka::Bindings::Message.new(pointer)
    return errors << read_error(native) unless native[:err].zero?

    record = PlainRecord.from(Rdkafka::Consumer::Message.new(native))
    @room_messages -= 1
    @room_bytes -= record.size
    queue = @queues[[record.topic, record.partition]] or return
    queue.count(record.size)
    taken[queue] << record
  ensure
    Rdkafka::Bindings.rd_kafka_message_destroy(pointer)
  end

  def read_error(native)
    topic = native[:rkt].null? ? nil : Rdkafka::Bindings.rd_kafka_topic_name(native[:rkt])
    message = native[:payload].null? ? nil : native[:payload].read_string(native[:len])
    ReadError.new(code: native[:err], message:, topic:, partition: native[:partition], offset: native[:offset])
  end

  def watch(pointer)
    Functions.rd_kafka_queue_io_event_enable(pointer, @write_io.fileno, "q", 1)
  end
end

# One partition's queue in an {FFIReader}.
class FFIPartitionQueue
  # @return [FFI::Pointer]
  attr_reader :pointer
  # @return [Object]
  attr_reader :owner
  # @return [Array(String, Integer)]
  attr_reader :name

  # @!visibility private
  def initialize(reader, pointer, owner, name)
    @reader = reader
    @pointer = pointer
    @owner = owner
    @name = name
    @allowed = 0
    @size = nil
    @bytes = 1 << 20
    @closed = false
  end

  # @param count [Integer] how many messages may be taken until the next call
  # @param bytes [Integer] about as many are in one batch, but at least one message; when left out, as before
  # @return [void]
  def allow(count, bytes = @bytes)
    @allowed = count
    @bytes = bytes
    @reader.notify("q") if count.positive?
  end

  # @!visibility private
  # @param held [Integer] messages of this batch that are taken already
  # @return [Integer] how many more to take, by their size so far
  def fitting(held)
    return 0 unless @allowed.positive?

    @size ? [@allowed, (@bytes / @size) + 1 - held].min : 1
  end

  # @!visibility private
  def count(size)
    @allowed -= 1
    @size = @size ? ((@size * 7) + size + 1) / 8 : size + 1
  end

  # Gives the queue back to librdkafka; what was taken from it and not handed out is dropped.
  # @return [void]
  def close
    return if @closed

    @closed = true
    @reader.forget(self)
  end

  # @return [Boolean]
  def closed?
    @closed
  end
end
