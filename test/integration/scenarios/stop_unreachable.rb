# frozen_string_literal: true

# everyday: embedded
# stress: 200 stops instead of a few
#
# Proves that an application stops within its deadline when its brokers cannot be reached: when nothing answers at their
# address, when they went away with work in progress that cannot be committed any more, and when the network drops
# all packets; in this process, and as a process that exits on SIGTERM.
require_relative "../support/scenario"

Scenario.run do
  timeout = 3 # seconds
  partitions = 2
  name = topic(partitions:)
  consumer = accounting
  drawing = proc { topic(name) { consumer(consumer) } }
  slowest = Hash.new(0)
  timed = lambda do |what, &block|
    before = awake
    block.call
    took = awake - before
    slowest[what] = [slowest[what], took].max
    check(took < timeout + 20, "#{what}: stopping took #{took.round(1)} s")
  end

  (long? ? 100 : 2).times do |run|
    restart(servers: "127.0.0.1:1", &drawing)
    sleep(rand * 0.3) if run.positive?
    timed.call("nobody there") { Guildhall::Kafka.stop(timeout:) }
  end

  (long? ? 100 : 2).times do |run|
    proxy = Proxy.new(servers)
    produce_to(name, partitions, 20)
    # A group of its own: it need not wait until the member before, which could not leave, is taken for dead.
    restart(servers: proxy.bootstrap_servers, librdkafka: {"session.timeout.ms": 6_000}, group_id: "#{group}-#{run}", &drawing)
    eventually_complete
    run.even? ? proxy.silence : proxy.cut
    timed.call(run.even? ? "silent" : "cut off") { Guildhall::Kafka.stop(timeout:) }
    proxy.close
  end

  proxy = Proxy.new(servers)
  produce_to(name, partitions, 20)
  one = member(name, librdkafka: {"bootstrap.servers": proxy.bootstrap_servers, "session.timeout.ms": 6_000}, shutdown_timeout: timeout)
  eventually_complete
  proxy.silence
  status = nil
  timed.call("a process") { status = one.leave }
  check([0, 1].include?(status), "exit status #{status.inspect}")
  proxy.close
  notes << slowest.map { |what, seconds| "#{what} #{seconds.round(1)} s" }
end
