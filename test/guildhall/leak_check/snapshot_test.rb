# frozen_string_literal: true

require "test_helper"
require "guildhall/leak_check"

# What is a leak, and what has only taken another's place.
class LeakCheckGrowthTest < GuildhallTest
  Snapshot = Struct.new(:threads, :ractors, :descriptors, :memory)

  def growth(before, after, memory: 0)
    earlier, later = [before, after].map { |threads| Snapshot.new(threads, {}, {}, 0) }
    later.memory = memory
    Guildhall::LeakCheck::Growth.new(earlier, later)
  end

  def test_only_what_there_is_more_of_in_all
    refute_predicate growth({"a.rb:1" => 2}, {"b.rb:2" => 2}), :leak?
    leak = growth({"a.rb:1" => 2}, {"a.rb:1" => 1, "b.rb:2" => 3})
    assert_equal [[:thread, "b.rb:2", 3]], leak.leaks.map { |one| [one.kind, one.site, one.count] }
    assert_equal "3 threads created at b.rb:2; 0.0 MB of memory", leak.to_s
  end

  def test_the_most_come_first_and_some_can_be_left_out
    leak = growth({}, {"a.rb:1" => 1, "b.rb:2" => 3})
    assert_equal %w[b.rb:2 a.rb:1], leak.leaks.map(&:site)
    assert_equal %w[a.rb:1], leak.only { |one| one.count == 1 }.leaks.map(&:site)
    refute_predicate leak.only { false }, :leak?
  end

  def test_memory_counts_where_a_limit_is_given
    leak = growth({}, {}, memory: 12_000_000)
    assert_equal [false, false, true], [leak.leak?, leak.leak?(12_000_000), leak.leak?(11_999_999)]
    assert_equal "12.0 MB of memory", leak.to_s
  end
end
