# frozen_string_literal: true

# everyday: real
# stress: 200 stops instead of a few
#
# Proves that an application that is stopped at any moment before its first assignment, from the very start on, stops
# well within its deadline, leaves no thread and no file descriptor behind, and does not delay the next member.
require_relative "../support/scenario"

Scenario.run do
  partitions = 2
  name = topic(partitions:)
  produce_to(name, partitions, 50)
  consumer = accounting
  drawing = proc { topic(name) { consumer(consumer) } }
  runs = long? ? 200 : 6
  slowest = 0
  configure
  routes(&drawing)
  start # so that what libraries start once and keep is there
  eventually_complete
  stop
  threads = Thread.list.size
  files = descriptors
  runs.times do |run|
    restart(max_messages: 10, &drawing)
    sleep(rand * 0.2) if run.positive?
    before = awake
    stop(timeout: 20)
    slowest = [slowest, awake - before].max
  end
  eventually("no thread left over: #{threads} before") { Thread.list.size <= threads }
  # The embedded broker has its own, and closes them in its own time.
  eventually("no file descriptor left over: #{files} before") { descriptors <= files } unless embedded
  produce_to(name, partitions, 50)
  restart(&drawing)
  eventually_complete
  stop
  equal([100] * partitions, committed(name, partitions:), "committed")
  notes << "#{runs} stops" << "the slowest in #{slowest.round(1)} s"
end
