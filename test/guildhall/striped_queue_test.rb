# frozen_string_literal: true

require "test_helper"
require "timeout"
require "guildhall/striped_queue"
require "support/queue_contract"

class StripedQueueTest < GuildhallTest
  include QueueContract

  # Of four stripes; a producer has a fourth of the capacity, so the contract's numbers are those of one stripe.
  def new_queue(capacity, stripes: 4, **)
    Guildhall::StripedQueue.new(capacity.is_a?(Integer) ? capacity * stripes : capacity, stripes:, **)
  end

  def test_capacity_is_rounded_up_to_the_stripes
    queue = Guildhall::StripedQueue.new(10, stripes: 4)
    assert_equal 12, queue.capacity
    assert_equal 4, queue.stripes
    assert_raises(ArgumentError) { Guildhall::StripedQueue.new(3, stripes: 4) }
    assert_raises(ArgumentError) { Guildhall::StripedQueue.new(3, stripes: 0) }
    assert_operator Guildhall::StripedQueue.new(100).stripes, :>=, 1
    [nil, "100", 0].each { |capacity| assert_raises(Guildhall::ArgumentError) { Guildhall::StripedQueue.new(capacity) } }
  end

  def test_a_consumer_takes_from_all_stripes
    queue = new_queue(16)
    Array.new(8) { |number| Thread.new { queue.push(number) } }.each(&:join)
    assert_equal (0...8).to_a, Array.new(8) { queue.pop }.sort
  end

  # A busy stripe of its own must not keep a consumer from the others.
  def test_no_stripe_starves
    queue = new_queue(64)
    queue.push(:own)
    others = Array.new(8) { |number| Thread.new { queue.push(number) } }.each(&:join)
    seen = []
    400.times do
      queue.push(:own)
      seen << queue.pop
    end
    assert_equal (0...others.size).to_a, seen.grep(Integer).sort
  end

  def test_every_item_arrives_once_and_in_order_between_ractors
    assert_equal "#{(0...40_000).sum} 40000\n", assert_ruby(<<~'RUBY')
      require "guildhall/striped_queue"
      Warning[:experimental] = false
      queue = Guildhall::StripedQueue.new(20, stripes: 3)
      take = Ractor.method_defined?(:value) ? :value : :take
      consumers = Array.new(3) { Ractor.new(queue) { |source| items = []; source.each { |item| items << item }; items } }
      producers = Array.new(4) { |number| Ractor.new(queue, number) { |target, n| 10_000.times { |i| target.push((n * 10_000) + i) } } }
      producers.each(&take)
      queue.close
      lists = consumers.map(&take)
      in_order = lists.all? { |items| items.group_by { |item| item / 10_000 }.each_value.all? { |own| own == own.sort } }
      abort("out of order") unless in_order
      puts "#{lists.flatten.sum} #{lists.flatten.uniq.size}"
    RUBY
  end
end
