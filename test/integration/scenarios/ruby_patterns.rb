# frozen_string_literal: true

#
# Proves that patterns are matched by Ruby: `\d`, `\h`, `(?:…)`, lookaheads and flags mean what they mean there, and that a
# topic with a route of its own is consumed by that route, wherever in the routes a pattern matches it.
require_relative "../support/scenario"

Scenario.run do
  names = %w[1 22 ABC].to_h { |suffix| [suffix, topic(name: "rx-#{suffix}")] }
  names.each_value { |name| produce(name, [{payload: "x", partition: 0}]) }
  seen = Thread::Queue.new
  consumer = Class.new(Guildhall::Kafka::Consumer) do
    const_set(:SEEN, seen)
    def consume = messages.each { self.class::SEEN << topic_name }
  end
  tail = "-#{@id}"
  {
    /\Arx-\d+#{tail}/ => %w[1 22], /\Arx-\h+#{tail}/ => %w[1 22 ABC], /\Arx-abc#{tail}/i => %w[ABC],
    /\Arx-(?:1|22)#{tail}/ => %w[1 22], /\Arx-(?!ABC).*#{tail}/ => %w[1 22], /\A rx - 22 #{tail}/x => %w[22], /rx-1#{tail}|rx-22#{tail}/ => %w[1 22]
  }.each_with_index do |(expression, wanted), index|
    Guildhall::Kafka.reset
    configure
    Guildhall::Kafka.config.group_id = "#{group}-#{index}"
    routes { pattern(expression) { consumer(consumer) } }
    start
    eventually("#{expression.inspect} consumes #{wanted.join(", ")}") { seen.size >= wanted.size }
    equal(names.values_at(*wanted).sort, Guildhall::Kafka.application.partitions.map(&:name).sort, expression.inspect)
    stop
    equal(names.values_at(*wanted).sort, drain(seen).sort, "consumed by #{expression.inspect}")
  end

  by = Thread::Queue.new
  taking = ->(name) { Class.new(consumer) { define_method(:consume) { messages.each { by << [name, topic_name] } } } }
  pattern_first = taking.call(:pattern)
  own = taking.call(:own)
  Guildhall::Kafka.reset
  configure
  Guildhall::Kafka.config.group_id = "#{group}-own"
  reported = Thread::Queue.new
  Guildhall::Kafka.instrumentation.subscribe("routes.overlapping") { |event| reported << event.payload }
  routes do
    pattern(/\Arx-.*#{tail}/) { consumer(pattern_first) }
    topic(names["22"]) { consumer(own) }
  end
  start
  eventually("all three are consumed") { by.size == 3 }
  stop
  equal([[:own, names["22"]], [:pattern, names["1"]], [:pattern, names["ABC"]]].sort, drain(by).sort, "who consumed what")
  equal([[names["22"], names["22"]]], drain(reported).map { |one| one.values_at(:topic, :chosen) }, "overlaps that were reported")
end
