# frozen_string_literal: true

require_relative "wakes"

# What every queue does, whatever lies inside. The test case that includes it has `new_queue(capacity, **)`.
module QueueContract
  def test_first_in_first_out_of_one_producer
    queue = new_queue(64)
    [1, nil, false, :four].each { |item| queue << item }
    assert_equal 4, queue.size
    assert_equal [1, nil, false, :four], Array.new(4) { queue.pop }
    assert_predicate queue, :empty?
  end

  def test_has_the_names_of_sized_queue
    queue = new_queue(64)
    queue.enq(1)
    queue.push(2)
    queue << 3
    assert_equal 3, queue.length
    assert_equal [1, 2, 3], [queue.shift, queue.deq, queue.pop]
    assert_equal queue.capacity, queue.max
    Thread::SizedQueue.instance_methods(false).each do |name|
      assert_respond_to queue, name unless name == :max=
    end
  end

  def test_push_returns_the_queue_and_close_too
    queue = new_queue(64)
    assert_same queue, queue.push(1)
    assert_same queue, queue.clear
    assert_same queue, queue.close
    assert_same queue, queue.close
  end

  def test_refuses_what_is_not_shareable
    queue = new_queue(64)
    error = assert_raises(Guildhall::NotShareableError) { queue.push([+"mutable"].freeze) }
    assert_equal "item[0]", error.path
    assert_raises(Guildhall::NotShareableError) { queue.try_push(+"mutable") }
    assert_raises(Guildhall::NotShareableError) { queue.push_many([1, +"mutable"]) }
    assert_predicate queue, :empty?
  end

  def test_try_pop_and_default_tell_nil_from_nothing
    queue = new_queue(64)
    assert_nil queue.try_pop
    assert_equal :none, queue.try_pop(:none)
    assert_equal :none, queue.pop(timeout: 0, default: :none)
    queue.push(nil)
    assert_nil queue.try_pop(:none)
    queue.push(nil)
    assert_nil queue.pop(default: :none)
  end

  def test_non_block_raises_as_sized_queue
    queue = filled(new_queue(64))
    error = assert_raises(ThreadError) { queue.push(1, true) }
    assert_equal "queue full", error.message
    queue.clear
    error = assert_raises(ThreadError) { queue.pop(true) }
    assert_equal "queue empty", error.message
    error = assert_raises(ArgumentError) { queue.pop(true, timeout: 1) }
    assert_equal "can't set a timeout if non_block is enabled", error.message
    assert_raises(ArgumentError) { queue.push(1, true, timeout: 1) }
  end

  def test_arguments_are_checked
    queue = new_queue(64)
    assert_raises(ArgumentError) { queue.push }
    assert_raises(ArgumentError) { queue.push(timeout: 1) }
    assert_raises(ArgumentError) { queue.push(1, false, 2) }
    assert_raises(ArgumentError) { queue.pop(unknown: 1) }
    assert_raises(ArgumentError) { queue.pop(timeout: -1) }
    ["soon", Complex(1, 1), Float::NAN, Object.new].each do |timeout|
      error = assert_raises(Guildhall::ArgumentError) { queue.pop(timeout:) }
      assert_match(/\Atimeout must be 0 or more seconds, not /, error.message)
    end
    assert_raises(ArgumentError) { queue.pop_many(0) }
    assert_raises(Guildhall::ArgumentError) { queue.pop_many("many") }
    assert_equal "items must be an Array, not 1", assert_raises(Guildhall::ArgumentError) { queue.push_many(1) }.message
    assert_raises(ArgumentError) { new_queue(0) }
    [nil, "8", 10**30].each { |capacity| assert_raises(Guildhall::ArgumentError) { new_queue(capacity) } }
  end

  def test_time_outs_of_any_number_type
    queue = new_queue(64)
    assert_nil queue.pop(timeout: 0)
    assert_nil queue.pop(timeout: 0.001)
    assert_nil queue.pop(timeout: 1/1000r)
    filled(queue)
    assert_nil queue.push(2, timeout: 0.001)
    assert_equal queue.capacity, queue.size
  end

  def test_a_hash_is_an_item
    queue = new_queue(64)
    queue.push({a: 1}.freeze)
    assert_equal({a: 1}, queue.pop)
  end

  def test_close_lets_the_rest_be_taken
    queue = new_queue(64)
    queue.push(1)
    queue.close
    assert_predicate queue, :closed?
    assert_raises(ClosedQueueError) { queue.push(2) }
    assert_raises(ClosedQueueError) { queue.try_push(2) }
    assert_raises(ClosedQueueError) { queue.push_many([2]) }
    assert_equal 1, queue.pop
    assert_nil queue.pop
    assert_equal :over, queue.pop(default: :over)
    assert_nil queue.pop_many(5)
  end

  def test_close_wakes_all_who_pop
    queue = new_queue(64)
    threads = Array.new(5) { Thread.new { queue.pop(default: :over) } }
    eventually { queue.num_waiting == 5 }
    queue.close
    assert_equal [:over] * 5, threads.map(&:value)
  end

  def test_close_wakes_all_who_push_and_keeps_what_was_accepted
    queue = filled(new_queue(64))
    threads = Array.new(5) { Thread.new { pushes_until_closed(queue) } }
    eventually { queue.num_waiting == 5 }
    queue.close
    accepted = threads.sum(&:value)
    assert_equal queue.capacity + accepted, queue.drain.size
    assert_nil queue.pop
  end

  def test_push_many_and_pop_many
    queue = new_queue(256)
    assert_equal 5, queue.push_many([1, nil, 3, 4, 5])
    assert_equal [1, nil], queue.pop_many(2)
    assert_equal [3, 4, 5], queue.pop_many(100)
    assert_equal [], queue.pop_many(100, timeout: 0)
    assert_equal 0, queue.push_many([])
    assert_equal [9], queue.push(9).pop_many(1)
  end

  def test_push_many_waits_for_room_and_keeps_order
    queue = new_queue(16)
    items = (0...1000).to_a.freeze
    thread = Thread.new { queue.push_many(items).tap { queue.close } }
    taken = []
    while (some = queue.pop_many(7))
      taken.concat(some)
    end
    assert_equal items, taken
    assert_equal 1000, thread.value
  end

  def test_push_many_says_how_many_at_the_time_out
    queue = new_queue(16)
    pushed = queue.push_many((0...1000).to_a, timeout: 0.01)
    assert_operator pushed, :>, 0
    assert_equal (0...pushed).to_a, queue.drain
  end

  def test_drain_and_clear_take_all_and_let_producers_go_on
    queue = filled(new_queue(64))
    thread = Thread.new { queue.push(:waited) }
    eventually { queue.num_waiting == 1 }
    assert_equal queue.capacity, queue.drain.size
    thread.join
    assert_equal [:waited], queue.drain
    assert_equal [], queue.drain
    filled(queue)
    thread = Thread.new { queue.push(:waited) }
    eventually { queue.num_waiting == 1 }
    queue.clear
    thread.join
    assert_equal [:waited], queue.drain
  end

  def test_each_until_closed_and_empty
    queue = new_queue(64)
    [1, nil, false].each { |item| queue.push(item) }
    taken = []
    thread = Thread.new { queue.each { |item| taken << item } }
    eventually { queue.num_waiting == 1 }
    queue.push(4)
    queue.close
    assert_same queue, thread.value
    assert_equal [1, nil, false, 4], taken
    assert_equal [], queue.each.to_a
  end

  def test_is_shareable_and_cannot_be_copied
    queue = new_queue(64)
    assert Ractor.shareable?(queue)
    assert_predicate queue, :frozen?
    assert_raises(TypeError) { queue.dup }
    assert_raises(TypeError) { queue.clone }
    assert_raises(TypeError) { Marshal.dump(queue) }
    assert_raises(NoMethodError) { queue.class.allocate }
  end

  def test_unchecked_takes_anything_and_stays_in_its_ractor
    queue = new_queue(64, check: false)
    item = +"mutable"
    queue.push(item)
    assert_same item, queue.pop
    refute Ractor.shareable?(queue)
    error = assert_raises(TypeError, Ractor::Error) { Ractor.new(queue) { |sent| sent } }
    assert_match(/cop(y|ied)/, error.message)
    queue.push(item)
    assert_raises(TypeError, Ractor::Error) { Ractor.new(queue) { |sent| sent } }
    assert_raises(Ractor::Error) { Ractor.make_shareable(queue) }
  end

  def test_an_exception_reaches_a_waiting_thread_and_loses_nothing
    queue = new_queue(64)
    thread = Thread.new { queue.pop }
    thread.report_on_exception = false
    eventually { queue.num_waiting == 1 }
    thread.raise(IOError, "stop")
    assert_raises(IOError) { thread.join }
    assert_equal 0, queue.num_waiting
    queue.push(:kept)
    assert_equal :kept, queue.pop
  end

  def test_kill_and_timeout_end_a_wait
    queue = filled(new_queue(64))
    thread = Thread.new { queue.push(1) }
    eventually { queue.num_waiting == 1 }
    thread.kill.join
    assert_equal 0, queue.num_waiting
    assert_raises(Timeout::Error) { Timeout.timeout(0.01) { queue.push(1) } }
    assert_equal queue.capacity, queue.drain.size
  end

  def test_a_waiter_neither_spins_nor_polls
    skip "needs /proc" unless Wakes.available?
    queue = new_queue(64)
    thread = Thread.new { queue.pop }
    eventually { queue.num_waiting == 1 }
    waiting = Wakes.during(0.5)
    queue.push(nil)
    thread.join
    assert waiting.rest
    assert_operator waiting.wakes, :<, 20
  end

  def test_items_survive_compaction_and_collection
    queue = new_queue(64)
    10.times do |round|
      60.times { |number| queue.push("item #{round} #{number}".freeze) }
      GC.compact if GC.respond_to?(:compact)
      GC.start
      assert_equal Array.new(60) { |number| "item #{round} #{number}" }, Array.new(60) { queue.pop }
    end
  end

  def test_under_gc_stress
    like = new_queue(16)
    stripes = ", stripes: #{like.stripes}" if like.respond_to?(:stripes)
    assert_equal "true\n", assert_ruby(<<~RUBY, gems: false) # which has few objects to collect
      require "guildhall/queue"
      require "guildhall/striped_queue"
      queue = #{like.class}.new(#{like.capacity}#{stripes})
      thread = Thread.new { queue.each.to_a }
      GC.stress = true
      20.times { |number| queue.push("item \#{number}".freeze) }
      queue.push_many(Array.new(3) { |number| "many \#{number}".freeze })
      GC.stress = false
      queue.close
      p thread.value == Array.new(20) { |number| "item \#{number}" } + ["many 0", "many 1", "many 2"]
    RUBY
  end

  def test_memsize_counts_the_cells
    require "objspace"
    small, large = [64, 64_000].map { |capacity| new_queue(capacity) }
    assert_equal 16 * (large.capacity - small.capacity), ObjectSpace.memsize_of(large) - ObjectSpace.memsize_of(small)
  end

  private

  def filled(queue)
    Thread.new { nil while queue.try_push(:filler) }.join until queue.full? # a thread fills the stripe it pushes to
    queue
  end

  def pushes_until_closed(queue)
    count = 0
    count += 1 while queue.push(:late)
  rescue ClosedQueueError
    count
  end
end
