# frozen_string_literal: true

require_relative "librdkafka"
require_relative "plain_record"
require_relative "read_error"

module Guildhall
  module Kafka
    # Reads messages in Ruby, through karafka-rdkafka's bindings: what {Reader} does in C, slower, for platforms where
    # the extension is not built. Used by one thread; {#wake} and {FFIPartitionQueue#allow} may be called by others.
    class FFIReader
      BATCH = 1024

      # @param handle [FFI::Pointer] librdkafka's consumer
      def initialize(handle)
        @main = Rdkafka::Bindings.rd_kafka_queue_get_consumer(handle)
        @handle = handle
        @buffer = FFI::MemoryPointer.new(:pointer, BATCH)
        @bell, @rope = IO.pipe
        @queues = {}
        @released = []
        @turn = 0
        watch(@main)
      end

      # Takes the partition's messages from its own queue from now on.
      # @param topic [String]
      # @param partition [Integer]
      # @param owner [Object] stands beside the records in what {#take} returns
      # @param _codec [Codec, nil] not used: this reader does not decode
      # @return [FFIPartitionQueue]
      def open(topic, partition, owner, _codec = nil)
        pointer = Librdkafka.rd_kafka_queue_get_partition(@handle, topic, partition)
        raise Guildhall::Error, "librdkafka has no queue for #{topic}/#{partition}" if pointer.null?

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
          woken = called?
          taken = take_now
          return taken if woken || taken.any?(&:any?) || (rest = limit - Clock.now) <= 0

          @bell.wait_readable(rest)
        end
      end

      # Ends a {#take} that waits.
      # @return [void]
      def wake
        ring("w")
      end

      # @return [void]
      def close
        queues = @queues.values # closing takes them out of the Hash
        queues.each(&:close)
        destroy_released
        Librdkafka.rd_kafka_queue_io_event_enable(@main, -1, nil, 0)
        Librdkafka.rd_kafka_queue_destroy(@main)
        [@bell, @rope].each(&:close)
      end

      # @!visibility private
      def ring(text)
        @rope.write_nonblock(text, exception: false)
      rescue IOError
        # Closed meanwhile: nobody waits any more.
      end

      # @!visibility private
      def forget(queue)
        @queues.delete(queue.name)
        @released << queue.pointer # a rebalance happens while it may be read from, below us on the stack
      end

      private

      # A partition that went and came back within one take has two pointers here to one queue of librdkafka: the bell
      # that the first one's release takes away is the second one's as well.
      def destroy_released
        return if @released.empty?

        while (pointer = @released.pop)
          Librdkafka.rd_kafka_queue_io_event_enable(pointer, -1, nil, 0)
          Librdkafka.rd_kafka_queue_destroy(pointer)
        end
        @queues.each_value { |queue| watch(queue.pointer) }
      end

      # Empties the pipe.
      def called?
        rings = @bell.read_nonblock(4096, exception: false)
        rings != :wait_readable && rings.include?("w")
      end

      # The main queue first, until it is empty: messages that went there before the partition's queue was split from
      # it are older than those in the partition's queue.
      def take_now
        destroy_released
        taken = Hash.new { |hash, queue| hash[queue] = [] }.compare_by_identity
        errors = []
        @queues.each_value { |queue| Librdkafka.rd_kafka_queue_forward(queue.pointer, FFI::Pointer::NULL) }
        while read(@main, BATCH, taken, errors).positive?; end
        in_turn.each { |queue| empty(queue, taken, errors) unless queue.closed? }
        [taken.filter_map { |queue, records| [queue.owner, records, PlainRecord.bytes(records)] unless queue.closed? }, errors]
      end

      # Another one first each time: where there is not room for all, all get some in turn. A copy, for a rebalance may
      # change the Hash meanwhile.
      def in_turn
        @queues.values.rotate(@turn += 1)
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
        return errors << ReadError.from(native) unless native[:err].zero?

        record = PlainRecord.from(Rdkafka::Consumer::Message.new(native))
        @room_messages -= 1
        @room_bytes -= record.size
        queue = @queues[[record.topic, record.partition]] or return
        queue.count(record.size)
        taken[queue] << record
      ensure
        Rdkafka::Bindings.rd_kafka_message_destroy(pointer)
      end

      def watch(pointer)
        Librdkafka.rd_kafka_queue_io_event_enable(pointer, @rope.fileno, "q", 1)
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
        @reader.ring("q") if count.positive?
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
  end
end
