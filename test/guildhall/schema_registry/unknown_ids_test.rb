# frozen_string_literal: true

require "test_helper"
require "guildhall/schema_registry"

# By a clock of its own: nothing waits here.
class SchemaRegistryUnknownIDsTest < GuildhallTest
  # Shareable, as the real one is.
  class Hand
    def initialize = Ractor.make_shareable(@cell = Guildhall::SharedCache.new).replace(:now, 0.0)
    def now = @cell[:now]
    def go(seconds) = @cell.replace(:now, now + seconds)
  end

  def setup
    @clock = Hand.new
    @ids = Guildhall::SchemaRegistry::UnknownIDs.new(60, 300, clock: @clock)
  end

  def test_what_nobody_has_asked_for_is_asked_for
    assert @ids.ask?(7)
    refute @ids.missing?(7)
    refute @ids.unknown?(7)
  end

  def test_asks_with_growing_pauses_for_a_while
    asked = 100.times.filter_map do
      (now = @clock.now) && @ids.ask?(7) && @ids.missing(7) && now
    ensure
      @clock.go(1)
    end
    assert_equal [0, 1, 3, 7, 15, 23, 31, 39, 47, 55, 60], asked.map(&:to_i)
    assert @ids.unknown?(7)
  end

  # Garbage that comes all the time costs a minute once, and then one request in five minutes.
  def test_what_is_unknown_stays_so_and_is_asked_for_once_in_a_while
    verdict
    refute @ids.ask?(7)
    3.times do
      @clock.go(299)
      refute @ids.ask?(7)
      @clock.go(2)
      assert @ids.ask?(7)
      refute @ids.ask?(7), "somebody asks already"
      assert @ids.unknown?(7), "whoever does not ask need not wait"
      @ids.missing(7)
      assert @ids.unknown?(7)
    end
    @clock.go(301)
    assert @ids.ask?(7)
    @ids.found(7)
    refute @ids.unknown?(7)
  end

  def test_what_was_unknown_long_ago_gets_its_time_again
    verdict
    @clock.go(300 + 3_600 + 1)
    refute @ids.unknown?(7)
    refute @ids.missing?(7)
    assert @ids.ask?(7)
    @ids.missing(7)
    refute @ids.unknown?(7)
    assert @ids.missing?(7)
  end

  # Most ids are known, and none of the threads that want one at the same moment is to fail: each asks.
  def test_several_first_answers_count_as_one
    assert_equal [true] * 8, Array.new(8) { @ids.ask?(7) }
    8.times { @ids.missing(7) }
    @clock.go(1)
    assert @ids.ask?(7), "after the first pause"
    @ids.missing(7)
    @clock.go(1)
    refute @ids.ask?(7)
    @clock.go(1)
    assert @ids.ask?(7)
  end

  # A registry that is out of reach for longer says nothing about the id: only its own answer, after that time, does.
  def test_an_outage_is_no_verdict
    @ids.missing(7)
    @clock.go(100)
    assert @ids.ask?(7)
    refute @ids.ask?(7), "somebody asks already"
    @ids.failed(7)
    refute @ids.unknown?(7)
    assert @ids.ask?(7), "at once: it was not answered"
    @ids.missing(7)
    assert @ids.unknown?(7)
  end

  def test_one_of_many_threads_asks
    @ids.missing(7)
    @clock.go(2)
    assert_equal 1, Array.new(8) { Thread.new { @ids.ask?(7) } }.count(&:value)
  end

  def test_what_was_waited_for_long_ago_is_new
    @ids.missing(7)
    @clock.go(7_200)
    @ids.missing(7)
    refute @ids.unknown?(7)
  end

  def test_what_is_found_is_forgotten
    @ids.missing(7)
    @ids.found(7)
    refute @ids.missing?(7)
    assert_equal 0, @ids.size
  end

  def test_memory_is_bounded_and_a_flood_is_not_waited_for
    max = Guildhall::SchemaRegistry::UnknownIDs::MAX
    max.times { |id| @ids.missing(id) }
    @ids.missing(max)
    assert_equal [max, true, false], [@ids.size, @ids.unknown?(max), @ids.missing?(0)]
    refute @ids.unknown?(1), "what was waited for before is waited for"
    @ids.missing(max + 1)
    assert_equal [max, false, false], [@ids.size, @ids.unknown?(max + 1), @ids.missing?(max)], "the verdict makes room"
  end

  def test_no_time_at_all
    ids = Guildhall::SchemaRegistry::UnknownIDs.new(0, 300, clock: @clock)
    ids.missing(7)
    assert ids.unknown?(7)
  end

  private

  def verdict
    @ids.missing(7)
    @clock.go(60)
    @ids.missing(7)
    assert @ids.unknown?(7)
  end
end
