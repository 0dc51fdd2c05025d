# frozen_string_literal: true

# Proves that partitions that `throttle` and `delay` make wait do not block others (another topic of the same runner continues), that what
# waits is consumed later, in order and once, that no more than the limit passes in any period and nothing before it is
# old enough, that waiting partitions count as paused, and that a member that joins and leaves meanwhile loses nothing.
require_relative "../support/scenario"

Scenario.run do
  throttled, delayed, free = %w[throttled delayed free].map { |kind| topic(name: kind, partitions: 2) }
  per = 1
  limit = 40
  wait = 2
  times = Hash.new { |hash, key| hash[key] = [] }
  passed = Hash.new { |hash, key| hash[key] = {} } # when the throttle let each offset pass: it may be consumed a while later
  lock = Mutex.new
  watch = lambda do |messages|
    now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    lock.synchronize { messages.each { |message| passed[message.partition][message.offset] ||= now } }
  end
  journal = account
  consumer = Class.new(Guildhall::Kafka::Consumer) do
    define_method(:consume) do
      messages.each do |message|
        journal.handled("#{topic_name}/#{partition}", message.offset, self)
        lock.synchronize { times[[topic_name, partition]] << (Time.now - message.timestamp) }
      end
    end
  end
  configure(concurrency: 1, lag_interval: 0.1, max_messages: 100)
  lags = Thread::Queue.new
  Guildhall::Kafka.instrumentation.subscribe("lag.measured") { |event| lags << event.payload[:partitions] }
  routes do
    topic(throttled) do
      consumer consumer
      throttle(limit:, per:)
      filter watch
    end
    topic(delayed) do
      consumer consumer
      delay wait
    end
    topic(free) { consumer consumer }
  end
  start
  fill = lambda do |name, count|
    produce(name, (0...(count * 2)).map { |i| {payload: i.to_s, partition: i % 2} })
    2.times { |partition| account.produced("#{name}/#{partition}", count) }
  end
  fill.call(throttled, limit * 4)
  fill.call(delayed, 200)
  fill.call(free, 1_000)
  eventually("the free topic is not held up") { lock.synchronize { times.select { |(name, _), _| name == free }.sum { |_, list| list.size } } == 2_000 }
  left = account.produced_in_all - account.settled
  check(left > 200, "only #{left} messages waited while 2000 others were consumed")
  eventually("waiting partitions count as paused") do
    paused = lags.pop.select { |lag| lag[:paused] && lag[:messages].positive? }
    paused.any? { |lag| lag[:topic] == throttled || lag[:topic] == delayed }
  end
  # A member that comes and goes: what waits is read and filtered again.
  visitor(throttled, client_settings) { sleep(1) } unless embedded
  eventually_complete
  lock.synchronize do
    times.each do |(name, partition), ages|
      check(name != delayed || ages.all? { |age| age >= wait - 0.01 }, "#{name}/#{partition}: consumed #{ages.min.round(3)} s old")
    end
    # Without a rebalance, which begins a new period.
    passed.each do |partition, offsets|
      too_many = offsets.values.each_cons(limit + 1).find { |some| some.last - some.first < per * 0.9 }
      check(too_many.nil? || !embedded, "throttled/#{partition}: more than #{limit} in #{per} s")
    end
  end
  stop
  [throttled, delayed].each { |name| check(committed(name, partitions: 2).all?, "committed") }
end
