# frozen_string_literal: true

# broker: real (the embedded one refuses commits while a group rebalances)
# stress: 1,000 rebalances
#
# Proves that what an assignment costs is given back when it ends: after many rebalances there are no more consumer
# instances, threads, Ractors and file descriptors than before, and no more memory than a few rounds need; each instance learns that its
# partition was revoked. And that threads which a consumer starts in `initialized` and never ends are told, with their place.
require_relative "../support/scenario"
require "guildhall/leak_check"

Scenario.run do
  partitions = 4
  rounds = long? ? 500 : 6 # each brings two rebalances
  name = topic(partitions:)
  account = self.account
  born = Thread::Queue.new
  gone = Thread::Queue.new
  consumer = Class.new(Guildhall::Kafka::Consumer) do
    const_set(:ACCOUNT, account)
    const_set(:BORN, born)
    const_set(:GONE, gone)
    def initialized
      self.class::BORN << partition
    end

    def consume
      messages.each { |message| self.class::ACCOUNT.handled(partition, message.offset, self) }
    end

    def revoked
      self.class::GONE << partition
    end
    alias_method :shutdown, :revoked
  end
  pool = Guildhall::Pool.new(workers: 2)
  kafka = {"session.timeout.ms": 6_000, "heartbeat.interval.ms": 50}
  configure(librdkafka: kafka, pool:, commit_interval: 0.1)
  routes do
    topic(name) do
      consumer consumer
      deserializer Guildhall::JSON
      deserializing parallel: true
    end
  end
  start
  application = Guildhall::Kafka.application
  all_here = -> { application.partitions.size == partitions }
  round = lambda do |*|
    eventually("all assigned", &all_here)
    produce_to(name, partitions, 1)
    eventually_complete
    visitor(name, kafka) { eventually("some went away") { application.partitions.size < partitions } }
  end
  resident = lambda do
    GC.start
    Guildhall::LeakCheck.snapshot.memory / 1_000_000
  end
  threads = -> { Guildhall::LeakCheck.snapshot.threads }
  counted = lambda do
    eventually("all assigned", &all_here)
    eventually("goodbyes") { born.size - gone.size <= partitions }
    GC.start
    {threads: threads.call.values.sum, ractors: Ractor.count, files: descriptors, instances: ObjectSpace.each_object(consumer).count,
     partitions: ObjectSpace.each_object(Guildhall::Kafka::Partition).count}
  end
  3.times(&round)
  before = counted.call
  memory = nil
  rounds.times do |index|
    round.call
    memory = resident.call if index == rounds / 5 # by then all is loaded, and the heap has its size
  end
  grown = resident.call - memory
  check(grown < 30, "#{memory} MB after a fifth of the rounds, #{grown} MB more at the end")
  after = nil
  # What is being closed (the visitor's connections, say) is given back a little later.
  eventually("no more threads, Ractors and files than before: #{before}") do
    after = counted.call
    %i[threads ractors files].all? { |kind| after[kind] <= before[kind] }
  end
  # What the stack still points to is kept by the garbage collector.
  %i[instances partitions].each { |kind| check(after[kind] <= (4 * partitions) + 8, "#{kind}: #{before[kind]} before, #{after[kind]} after") }
  stop
  equal(born.size, gone.size, "goodbyes")

  told = Thread::Queue.new
  release = Thread::Queue.new
  leaking = Class.new(consumer) do
    define_method(:initialized) do
      super()
      Thread.new { release.pop }
    end
  end
  restart(librdkafka: kafka, pool:, commit_interval: 0.1) { topic(name) { consumer leaking } }
  Guildhall::Kafka.instrumentation.subscribe("consumer.threads_left") { |event| told << event.payload }
  application = Guildhall::Kafka.application
  round.call
  payload = told.pop(timeout: Scenario::LIMIT) || flunk("nobody says that threads are left behind")
  check(payload[:site].start_with?("#{__FILE__}:") && payload[:threads] > 1, payload.inspect)
  release.close
  stop
  pool.shutdown(timeout: 10)
  notes << "#{(rounds + 3) * 2} rebalances" << "#{born.size} instances" << after.inspect << "#{memory} MB, #{grown} MB more at the end"
end
