# frozen_string_literal: true

require "test_helper"
require "guildhall/shared_cache"

class SharedCacheTest < GuildhallTest
  def test_keeps_what_was_first
    cache = Guildhall::SharedCache.new
    assert_equal ["a", "a", "a", nil], [cache.add(1, "a"), cache.add(1, "b"), cache[1], cache[2]]
    cache.replace(1, "c")
    assert_equal ["c", 1], [cache[1], cache.size]
    cache.delete(1)
    assert_nil cache[1]
  end

  def test_takes_shareable_objects_only
    assert_raises(ArgumentError) { Guildhall::SharedCache.new.add(1, +"a") }
    assert Ractor.shareable?(Guildhall::SharedCache.new)
  end

  def test_loses_nothing_when_ractors_add_at_once
    out = assert_ruby(<<~'RUBY')
      require "guildhall/shared_cache"
      Warning[:experimental] = false
      cache = Guildhall::SharedCache.new
      ractors = Array.new(4) { |number| Ractor.new(cache, number) { |it, mine| 300.times { |step| it.add([mine, step].freeze, "v#{step}".freeze) } } }
      ractors.each { it.respond_to?(:value) ? it.value : it.take }
      GC.start
      puts cache.size, cache[[3, 299]]
    RUBY
    assert_equal %w[1200 v299], out.split
  end
end
