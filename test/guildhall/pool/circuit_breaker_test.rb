# frozen_string_literal: true

require "test_helper"
require "guildhall/pool"

class PoolCircuitBreakerTest < GuildhallTest
  Breaker = Guildhall::Pool::CircuitBreaker

  def test_opens_with_the_last_of_so_many_deaths
    breaker = Breaker.new(deaths: 3, window: 3600, pause: 3600)
    assert_equal [false, false, true], Array.new(3) { breaker.died }
    assert_predicate breaker, :open?
  end

  def test_is_closed_at_first
    refute_predicate Breaker.new(deaths: 1, window: 1, pause: 1), :open?
  end

  def test_deaths_outside_of_the_window_do_not_count
    breaker = Breaker.new(deaths: 2, window: 0, pause: 3600)
    assert_equal [false, false, false], Array.new(3) { breaker.died }
    refute_predicate breaker, :open?
  end

  def test_a_death_while_it_is_open_does_not_open_it_again
    breaker = Breaker.new(deaths: 1, window: 3600, pause: 3600)
    assert_equal [true, false], Array.new(2) { breaker.died }
  end

  def test_closes_after_the_pause_and_counts_from_zero
    breaker = Breaker.new(deaths: 2, window: 3600, pause: 0)
    assert_equal [false, true], Array.new(2) { breaker.died }
    refute_predicate breaker, :open?
    assert_equal [false, true], Array.new(2) { breaker.died }
  end
end
