# frozen_string_literal: true

require "test_helper"
require "support/kafka_partition"

class KafkaLeftThreadsTest < GuildhallTest
  LeftThreads = Guildhall::Kafka::Runtime::LeftThreads

  # A consumer that starts threads, whose queue ends them.
  class Leaking < Guildhall::Kafka::Consumer
    LINE = __LINE__ + 13
    class << self
      attr_reader :ends

      def release
        @ends&.close
        @ends = Thread::Queue.new
      end
    end
    release

    def initialized
      Thread.new { Leaking.ends.pop }.name = "worker of #{partition}"
      Thread.new { Thread.new { Leaking.ends.pop } }.join # of a thread of its own
    end

    def consume = nil
  end

  # One that ends what it starts.
  class Tidy < Leaking
    def initialized = @thread = Thread.new { sleep }
    def revoked = @thread.kill
    alias shutdown revoked
  end

  # Another one that does not, and starts it in its constructor.
  class Early < Leaking
    def initialize
      super
      Thread.new { Leaking.ends.pop }
    end

    def initialized = nil
  end

  def setup
    @left = LeftThreads.new(grace: 0.01)
    @events = []
  end

  def teardown
    Leaking.release
  end

  def test_the_place_is_told_once_when_two_consumers_have_left_threads
    assign(Leaking)
    assert_empty @events
    assign(Leaking)
    site = "#{__FILE__}:#{Leaking::LINE}"
    found = @events.map { |event| event.slice(:consumer, :site, :threads, :consumers) }
    assert_includes found, {consumer: Leaking.name, site:, threads: 2, consumers: 2}
    assert_equal 2, found.size, "and that of the thread that a thread has started"
    2.times { assign(Leaking) }
    assert_equal 2, @events.size
  end

  def test_a_constructors_threads_count
    2.times { assign(Early) }
    assert_equal [2], @events.map { |event| event[:threads] }
  end

  def test_what_has_ended_is_not_told
    3.times { assign(Tidy) }
    assign(Leaking)
    Leaking.release
    eventually { Thread.list.none? { |thread| thread.name == "worker of 0" } }
    assign(Leaking)
    assert_empty @events
  end

  def test_what_the_process_keeps_at_its_end_is_not_told
    2.times { assign(Leaking, :shutdown) }
    assert_empty @events
  end

  def test_a_consumer_that_raises_leaves_the_runner_where_it_was
    before = Thread.current.group
    assert_raises(RuntimeError) { LeftThreads.started { raise "no" } }
    assert_same before, Thread.current.group
  end

  def test_threads_that_are_fenced_in_are_left_alone
    started = Thread.new do
      ThreadGroup.new.add(Thread.current).enclose
      [LeftThreads.started { Thread.current[:ran] = true }, Thread.current[:ran]]
    end
    assert_equal [nil, true], started.value
  end

  private

  # Until the partition went away.
  def assign(consumer, reason = :revoked)
    kafka = KafkaPartition.new(consumer)
    kafka.partition.runtime.instance_variable_set(:@left_threads, @left)
    kafka.deliver(0...1).work
    kafka.partition.leave(reason)
    kafka.work
    @events.concat(kafka.partition.runtime.events.filter_map { |name, payload| payload if name == "consumer.threads_left" })
  end
end
