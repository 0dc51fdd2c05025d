# frozen_string_literal: true

# Proves that lag is reported in messages and seconds, of the partitions that are assigned, by the event and by the command
# alike, is 0 once all is done, and that librdkafka's statistics come as events.
require_relative "../support/scenario"
require "guildhall/cli"
require "stringio"
require "tempfile"

Scenario.run do
  name = topic(partitions: 2)
  let_go = Thread::Queue.new
  consumer = Class.new(Guildhall::Kafka::Consumer) do
    const_set(:LET_GO, let_go)
    def consume
      messages.each { |message| mark_as_consumed(message) if message.offset < 3 }
      self.class::LET_GO.pop
    end
  end
  configure(lag_interval: 0.05, commit_interval: 0.2)
  Guildhall::Kafka.config.kafka[:"statistics.interval.ms"] = 100
  lags = Thread::Queue.new
  statistics = Thread::Queue.new
  Guildhall::Kafka.instrumentation.subscribe("lag.measured") { |event| lags << event.payload[:partitions] }
  Guildhall::Kafka.instrumentation.subscribe("statistics.emitted") { |event| statistics << event.payload }
  routes { topic(name) { consumer(consumer) } }
  application = Guildhall::Kafka.application
  produce(name, Array.new(10) { {payload: "x", partition: 0} })
  equal([[0, nil, 10], [1, nil, 0]], application.lag.map { |row| [row.partition, row.committed, row.messages] }, "before anything is read")
  start

  eventually("seven are left") { lags.pop.any? { |lag| lag[:partition].zero? && lag[:messages] == 7 } }
  first = lags.pop.find { |lag| lag[:partition].zero? }
  equal([group, name], first.values_at(:group, :topic), "whose lag it is")
  eventually("they grow older") { lags.pop.any? { |lag| lag[:partition].zero? && lag[:seconds] > first[:seconds] } }
  eventually("three are committed") { committed(name) == [3] }
  row = application.lag.first
  equal([3, 10, 7], [row.committed, row.end_offset, row.messages], "what the broker knows")
  check(row.seconds.positive?, "age of the first message: #{row.seconds.inspect}")
  emitted = statistics.pop(timeout: 60)
  equal([group, "consumer"], [emitted[:group], emitted[:statistics]["type"]], "librdkafka's statistics")

  let_go.close
  eventually("nothing is left") { lags.pop.any? { |lag| lag.values_at(:partition, :messages, :seconds) == [0, 0, 0.0] } }
  check(drain(lags).flatten.all? { |lag| lag[:messages] >= 0 && lag[:seconds] >= 0 }, "lag is never negative")
  stop
  equal([], application.partitions, "partitions after the end")
  Tempfile.create(["routes", ".rb"]) do |file| # the command loads an application; it is here already
    out = StringIO.new
    equal(0, Guildhall::CLI.new(out:, err: $stderr).run(["lag", "-r", file.path]) || 0, "status of guildhall lag")
    lines = out.string.lines.map(&:split)
    equal([group, name, "0", "10", "10", "0", "0.0"], lines[1], "guildhall lag")
  end
end
