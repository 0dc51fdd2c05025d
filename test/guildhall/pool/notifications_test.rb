# frozen_string_literal: true

require "test_helper"
require "guildhall/pool"
require "support/pool_tasks"

# The pool's events as ActiveSupport knows events, with the real gem, in a process of its own.
class PoolNotificationsTest < GuildhallTest
  def test_events_reach_active_support
    out = assert_ruby(<<~RUBY)
      $LOAD_PATH.unshift("test")
      require "guildhall/pool"
      require "support/pool_tasks"
      require "active_support"
      require "active_support/notifications"
      pool = Guildhall::Pool.new(workers: 1)
      seen = Thread::Queue.new
      ActiveSupport::Notifications.subscribe(/\\.pool\\.guildhall\\z/) { |event| seen << [event.name, event.payload] }
      token = pool.instrumentation.bridge
      pool.map(%w[a b], PoolTasks::Upcase, parallel: true, source: 7)
      p seen.pop(timeout: 60)
      pool.instrumentation.unsubscribe(token)
      seen.clear
      pool.shutdown
      p seen.pop(timeout: 0)
    RUBY
    assert_equal ["dispatched.pool.guildhall", {payloads: 2, source: 7, decision: "parallel: forced"}].inspect, out.lines.first.chomp
    assert_equal "nil\n", out.lines.last
  end
end
