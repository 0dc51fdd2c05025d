# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"

class KafkaWatchdogTest < GuildhallTest
  Watchdog = Guildhall::Kafka::Runtime::Watchdog
  CHECKS = Watchdog::CHECKS_PER_TIMEOUT

  # A partition that stands where it is told to; the broker's answer is given by the test.
  class Partition
    attr_accessor :read_to, :end_offset, :behind, :denied
    attr_reader :cures, :events, :stalls_told

    def initialize
      @events = []
      @stalls_told = []
      @read_to = 7
      @end_offset = 10
      @behind = true
      @cures = []
    end

    def reports = self
    def publish(name, **payload) = @events << [name, payload[:action]]
    def idle_behind? = @behind
    def inquire(&answer) = @answer = answer
    def stalls(*told) = @stalls_told << told
    def read_on(offset) = @cures << offset
    def rejoin = @cures << :rejoin
    def asked? = !@answer.nil?

    # The answer of the broker: nil where nothing ahead can be read.
    def answer(end_offset = @end_offset)
      @answer.call(end_offset)
      @answer = nil
    end
  end

  Runtime = Struct.new(:partitions)

  def setup
    @partition = Partition.new
    @runtime = Runtime.new([@partition])
    @watchdog = Watchdog.new(@runtime, stall_timeout: 2)
  end

  def check(times) = times.times { @watchdog.check }

  def test_it_looks_four_times_within_the_timeout
    assert_in_delta 0.5, @watchdog.interval
  end

  def test_the_first_cure_is_a_seek_the_next_ones_rejoin
    check(CHECKS)
    refute_predicate @partition, :asked?
    check(1)
    assert_predicate @partition, :asked?
    @partition.answer
    check(CHECKS) && @partition.answer
    check(CHECKS) && @partition.answer
    assert_equal [7, :rejoin, :rejoin], @partition.cures
    assert_equal [[7, :seek], [7, :rejoin], [7, :rejoin]], @partition.stalls_told
    assert_equal %i[seek rejoin rejoin], @partition.events.map(&:last)
  end

  # Librdkafka reports the missing right once more after each seek; to rejoin, the whole group would have to stand still.
  def test_where_the_right_to_read_is_missing_nobody_rejoins
    3.times do
      @partition.denied = RuntimeError.new("TOPIC_AUTHORIZATION_FAILED")
      check(CHECKS + 1)
      @partition.answer
      refute_nil @partition.denied
    end
    assert_equal [7, 7, 7], @partition.cures
    assert_empty @partition.events
    check(CHECKS + 1)
    @partition.answer
    assert_nil @partition.denied # it was not reported again
    check(CHECKS + 1)
    @partition.answer
    assert_equal [:seek], @partition.events.map(&:last)
  end

  def test_while_the_broker_is_asked_nothing_else_is_done
    check(CHECKS + 1)
    check(10 * CHECKS)
    @partition.answer
    assert_equal [7], @partition.cures
  end

  def test_what_cannot_be_read_is_left_in_peace_and_asked_for_again
    2.times { check(CHECKS + 1) && @partition.answer(nil) }
    assert_empty @partition.cures
  end

  def test_a_partition_that_moves_or_has_nothing_to_read_is_not_stalled
    (3 * CHECKS).times { (@partition.read_to += 1) && check(1) }
    @partition.behind = false
    check(3 * CHECKS)
    refute_predicate @partition, :asked?
  end

  def test_after_it_has_moved_the_first_cure_is_a_seek_again
    check(CHECKS + 1) && @partition.answer
    @partition.read_to = 9
    check(CHECKS + 1) && @partition.answer
    assert_equal [7, 9], @partition.cures
  end

  def test_partitions_that_went_away_are_forgotten
    check(CHECKS)
    @runtime.partitions.clear
    check(1)
    @runtime.partitions << @partition
    check(CHECKS)
    refute_predicate @partition, :asked?
  end
end
