# frozen_string_literal: true

# Proves that partitions that a route assigns are read without a group: each from where the route says, each message once and in order, those
# that come later as well, through an error of the consumer and a network that fails; that nothing is committed, and that another start
# begins there again.
require_relative "../support/scenario"

Scenario.run do
  name = topic(partitions: 3)
  produce(name, (0...1_500).map { |i| {payload: i.to_s, partition: i % 3} })
  seen = Array.new(3) { [] }
  lock = Mutex.new
  failures = 1 # of the consumer
  consumer = Class.new(Guildhall::Kafka::Consumer) do
    define_method(:consume) do
      messages.each do |message|
        raise "on purpose" if message.offset == 250 && lock.synchronize { (failures -= 1).zero? }

        lock.synchronize { seen[partition] << message.offset }
        mark_as_consumed(message)
      end
    end
  end
  proxy = Proxy.new(servers)
  drawing = proc do
    topic(name) do
      consumer consumer
      assign partitions: {0 => :all, 1 => -10}
    end
  end
  configure(servers: proxy.bootstrap_servers, librdkafka: {"reconnect.backoff.max.ms": 500}, commit_interval: 0.1)
  routes(&drawing)
  start
  first = [(0...500).to_a, (490...500).to_a, []]
  eventually("what is there") { lock.synchronize { seen } == first }
  proxy.cut
  produce(name, (0...300).map { |i| {payload: i.to_s, partition: i % 3} })
  sleep(0.5)
  proxy.open
  all = [(0...600).to_a, (490...600).to_a, []]
  eventually("what comes later") { lock.synchronize { seen } == all }
  eventually("lag") { Guildhall::Kafka.application.partitions.map(&:lag) == [0, 0] }
  stop
  equal([nil] * 3, committed(name, partitions: 3).map { |offset| offset if offset.to_i >= 0 }, "committed")

  seen.each(&:clear)
  restart(servers: proxy.bootstrap_servers, &drawing)
  eventually("from the beginning again") { lock.synchronize { seen } == [(0...600).to_a, (590...600).to_a, []] }
  stop
  proxy.close
  notes << "1,330 messages, each once in its life"
end
