# frozen_string_literal: true

# broker: real
#
# Proves that messages that retention has deleted before they were consumed are reported, with the offset that was next and the one that is
# read instead: behind a committed offset, with `initial_offset :earliest` and without, and before a running consumer that is too slow; and that
# where a group without committed offsets begins is reported, too.
require_relative "../support/scenario"

Scenario.run do
  events = Thread::Queue.new
  delete = lambda do |name, offset|
    client(:admin) { |admin| admin.delete_records(name => [{partition: 0, offset:}]).wait(max_wait_timeout_ms: 60_000) }
  end
  seen = Thread::Queue.new
  let_go = Thread::Queue.new
  consumer = Class.new(Guildhall::Kafka::Consumer) do
    define_method(:consume) do
      messages.each { |message| seen << message.offset }
      let_go.pop if let_go.num_waiting.zero? && !let_go.closed?
    end
  end
  run = lambda do |name, place, **librdkafka, &block|
    Guildhall::Kafka.reset
    configure(librdkafka: {"auto.offset.reset": place, **librdkafka}, commit_interval: 0.1, max_messages: 10)
    Guildhall::Kafka.instrumentation.subscribe("offsets.none") { |event| events << [:none, event.payload.except(:group)] }
    Guildhall::Kafka.instrumentation.subscribe("offsets.reset") { |event| events << [:reset, event.payload.except(:group)] }
    routes { topic(name) { consumer(consumer) } }
    start
    block.call
    stop
  end

  %w[earliest latest].each do |place|
    let_go.close
    name = topic
    produce(name, Array.new(100) { {payload: "x"} })
    run.call(name, "earliest") { eventually("all consumed") { seen.size == 100 && committed(name) == [100] } }
    equal([[:none, {topic: name, partitions: [0], place: :earliest, messages: 100, may_seek: false}]], drain(events), "a new group")
    seen.clear
    produce(name, Array.new(100) { {payload: "x"} })
    delete.call(name, 150)
    first = {"earliest" => 150, "latest" => 200}.fetch(place)
    run.call(name, place) do
      equal([:reset, {topic: name, partitions: {0 => [100, first]}}], events.pop(timeout: 60), "what was deleted, #{place}")
      eventually("what is there") { seen.size == 200 - first }
    end
    equal([*first...200], drain(seen), "what is consumed, #{place}")
    equal([], drain(events), "more events")
  end

  let_go = Thread::Queue.new
  name = topic
  client(:producer) { |producer| 200.times { producer.produce(topic: name, payload: "x" * 1_000).wait } } # a batch each: they are not fetched together
  run.call(name, "earliest", "queued.min.messages": 1, "fetch.message.max.bytes": 1_000, "queued.max.messages.kbytes": 1) do
    events.pop(timeout: 60)
    eventually("the first batch") { seen.size.positive? }
    delete.call(name, 190)
    let_go.close
    kind, payload = events.pop(timeout: 60)
    from, to = payload[:partitions].fetch(0)
    equal([:reset, name, 190, true], [kind, payload[:topic], to, from < 190], "a slow consumer, from #{from}")
    eventually("the rest") { seen.size == from + 10 }
    equal([*0...from, *190...200], drain(seen), "what it has consumed")
  end
end
