# frozen_string_literal: true

require "test_helper"
require "support/kafka_partition"

# One message of a batch fails whenever it is handled. Whatever the shape of the consumer: no message is lost, and only the
# one that fails goes to the dead letters (with `strategy: :all`, all that is not finished). Figures of the guide's table
# are printed with TABLE=1.
class KafkaDispatchTableTest < GuildhallTest
  class Bad < StandardError; end

  # Handles messages in memory: what would be a database's work.
  class Base < Guildhall::Kafka::Consumer
    class << self
      attr_accessor :bad, :calls, :handled

      def start(bad)
        @bad = bad
        @calls = 0
        @handled = []
      end
    end

    def consume
      self.class.calls += 1
      work
    end

    # All of them, or none, as a bulk insert does.
    def handle(*messages)
      offsets = messages.map(&:offset)
      raise Bad, "bad" if offsets.include?(self.class.bad)

      self.class.handled.concat(offsets)
    end
  end

  # Message by message.
  class Each < Base
    def work = messages.each { |message| handle(message) }
  end

  # Message by message, each marked.
  class Marking < Base
    def work = messages.each_marking { |message| handle(message) }
  end

  # In slices.
  class Slices < Base
    def work = messages.each_slice(5) { |slice| handle(*slice) }
  end

  # In slices that are marked.
  class MarkedSlices < Base
    def work
      messages.each_slice(5) do |slice|
        handle(*slice)
        mark_as_consumed(slice.last)
      end
    end
  end

  # Into a buffer that is flushed now and then.
  class Buffer < Base
    def work
      buffer = []
      messages.each do |message|
        buffer << message
        flush(buffer) if buffer.size == 5
      end
      flush(buffer)
    end

    def flush(buffer)
      handle(*buffer)
      buffer.clear
    end
  end

  # Looks at all messages before it handles the first.
  class Mapped < Base
    def work
      payloads = messages.map(&:payload)
      messages.each_with_index { |message, index| handle(message) if payloads[index] }
    end
  end

  # The same with select.
  class Selected < Base
    def work = messages.select(&:payload).each { |message| handle(message) }
  end

  # The same with payloads.
  class Payloads < Base
    def work
      messages.payloads
      messages.each { |message| handle(message) }
    end
  end

  # All at once.
  class Whole < Base
    def work = handle(*messages)
  end

  SHAPES = [Each, Marking, Slices, MarkedSlices, Buffer, Mapped, Selected, Payloads, Whole].freeze
  BATCHES = {20 => 7, 500 => 499}.freeze

  BATCHES.each do |count, bad|
    SHAPES.each do |shape|
      [0, 3].each do |max_retries|
        [false, true].each do |virtual|
          name = "#{shape.name.split("::").last.downcase}_#{bad}_of_#{count}_with_#{max_retries}_retries#{"_virtual" if virtual}"
          define_method(:"test_#{name}") { one(shape, count, bad, max_retries, virtual) }
          define_method(:"test_non_retryable_#{name}") { one(shape, count, bad, max_retries, virtual, non_retryable: true) }
          define_method(:"test_all_#{name}") { all(shape, count, bad, max_retries, virtual) }
        end
      end
    end
  end

  def test_one_bad_message_in_500_costs_a_dead_letter_and_few_calls
    [0, 3].each do |max_retries|
      one(Each, 500, 250, max_retries, false)
      assert_operator Each.calls - 1, :<=, max_retries + (2 * Math.log2(500)), "extra calls"
    end
  end

  def test_good_messages_are_handled_a_few_times_where_the_consumer_stops_at_the_bad_one
    [Each, Mapped].product([0, 333, 499], [false, true]).each do |shape, bad, virtual|
      one(shape, 500, bad, 3, virtual)
      assert_operator shape.calls, :<=, virtual ? 12 : 10
      assert_operator shape.handled.tally.values.max, :<=, 5
    end
  end

  def test_a_bulk_consumer_does_not_pay_for_a_suspicion_that_says_nothing
    one(Whole, 500, 333, 3, false)
    assert_operator Whole.calls, :<=, 18
  end

  def test_several_bad_messages_each_go_alone
    consumer = Class.new(Each) { def handle(message) = [3, 4, 19].include?(message.offset) ? raise(Bad) : super }
    kafka = run_batch(consumer, 20, nil) { dead_letter_queue topic: "dead", max_retries: 1 }
    assert_equal [3, 4, 19], kafka.dead
    assert_equal [*0..2, *5..18], consumer.handled.uniq.sort
  end

  private

  def one(shape, count, bad, max_retries, virtual, non_retryable: false)
    kafka = run_batch(shape, count, bad) do
      dead_letter_queue(topic: "dead", max_retries:)
      retries non_retryable: [Bad] if non_retryable
      virtual_partitions partitioner: ->(message) { message.offset % 3 }, max: 3 if virtual
    end
    assert_equal [bad], kafka.dead
    assert_equal [*0...count] - [bad], shape.handled.uniq.sort
    assert_operator shape.calls, :<=, limit(count, max_retries, virtual), "calls"
    note(shape, count, max_retries, virtual, kafka) unless non_retryable
  end

  # One call would do; virtual partitions begin with three. The batch has its retries, then the message alone has them.
  def limit(count, max_retries, virtual)
    (virtual ? 3 : 1) + (2 * max_retries) + Math.log2(count).ceil + 2
  end

  def all(shape, count, bad, max_retries, virtual)
    kafka = run_batch(shape, count, bad) do
      dead_letter_queue(topic: "dead", max_retries:, strategy: :all)
      virtual_partitions partitioner: ->(message) { message.offset % 3 }, max: 3 if virtual
    end
    assert_includes kafka.dead, bad
    assert_equal kafka.dead.uniq, kafka.dead
    assert_equal [*0...count], (shape.handled | kafka.dead).sort
  end

  def run_batch(shape, count, bad, &)
    shape.start(bad)
    kafka = KafkaPartition.new(shape, &).deliver(0...count)
    assert kafka.work, "it goes on and on"
    assert_equal count, kafka.committed
    kafka
  end

  def note(shape, count, max_retries, virtual, kafka)
    return unless ENV["TABLE"]

    puts [shape.name.split("::").last, virtual ? "virtual" : "", count, max_retries, shape.calls, shape.handled.uniq.size,
          shape.handled.size - shape.handled.uniq.size, kafka.dead.size].join(" | ")
  end
end
