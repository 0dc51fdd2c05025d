# frozen_string_literal: true

require "test_helper"
require "objspace"
require "guildhall/striped_queue"

class QueueMemoryTest < GuildhallTest
  def test_its_size_is_that_of_its_cells
    small, large = [10, 1010].map { |capacity| ObjectSpace.memsize_of(Guildhall::Queue.new(capacity)) }
    assert_equal 16_000, large - small
    striped = ObjectSpace.memsize_of(Guildhall::StripedQueue.new(40, stripes: 4))
    assert_operator striped, :>, small + (30 * 16)
  end

  Item = Class.new

  def test_items_live_while_they_are_in_it_and_no_longer
    queue = Guildhall::Queue.new(100)
    fill(queue)
    GC.start
    assert_equal 100, ObjectSpace.each_object(Item).count
    100.times { queue.pop }
    clobber
    GC.start
    assert_operator ObjectSpace.each_object(Item).count, :<, 50 # what the machine stack remembers
  end

  def test_items_survive_compaction
    skip "no compaction here" unless GC.respond_to?(:compact)
    assert_equal "true\n", assert_ruby(<<~'RUBY', gems: false)
      require "guildhall/queue"
      queue = Guildhall::Queue.new(1000)
      junk = Array.new(10_000) { +"junk" }
      1000.times { |number| queue.push("item #{number}".freeze) }
      junk.clear
      GC.auto_compact = true
      GC.verify_compaction_references(toward: :empty, expand_heap: true)
      puts queue.drain == Array.new(1000) { |number| "item #{number}" }
    RUBY
  end

  def test_works_under_gc_stress
    assert_equal "true\n", assert_ruby(<<~'RUBY', gems: false)
      require "guildhall/queue"
      Warning[:experimental] = false
      queue = Guildhall::Queue.new(2)
      consumer = Ractor.new(queue) { |source| source.each.to_a }
      GC.stress = true
      50.times { |number| queue.push("item #{number}".freeze) }
      queue.push_many(Array.new(10) { |number| "more #{number}".freeze })
      GC.stress = false
      queue.close
      items = consumer.respond_to?(:value) ? consumer.value : consumer.take
      puts items == Array.new(50) { |number| "item #{number}" } + Array.new(10) { |number| "more #{number}" }
    RUBY
  end

  def test_queues_that_go_away_free_what_they_had
    grown = assert_ruby(<<~RUBY).to_i
      require "guildhall/queue"
      resident = -> { File.read("/proc/self/statm").split[1].to_i * 4096 }
      100.times { Guildhall::Queue.new(100_000).push(1) }
      GC.start
      before = resident.call
      1000.times { Guildhall::Queue.new(100_000).push(1) }
      GC.start
      puts resident.call - before
    RUBY
    assert_operator grown, :<, 400 << 20 # they were 1.6 GB
  end

  private

  def fill(queue) = 100.times { queue.push(Ractor.make_shareable(Item.new)) }

  # Overwrites what the machine stack remembers.
  def clobber(depth = 50) = depth.zero? ? 0 : 1 + clobber(depth - 1)
end
