# frozen_string_literal: true

# broker: real (the embedded one finds no offsets by time)
#
# Proves that the dashboard shows what a running application reports: a message that fails, by partition and by cause; the process of a
# member as brokers name it; a process that ends, in order or killed, with its last words although the page is opened later; and that
# nothing reads the topic when nobody looks.
require_relative "../support/scenario"
require "guildhall/web"
require "rack/mock_request"
require_relative "../../support/recorded_reports"

Scenario.run do
  reports = topic(partitions: 3)
  name = topic(partitions: 2)
  bad, dead = Array.new(2) { topic(partitions: 1) }
  refusing = Class.new(Guildhall::Kafka::Consumer) { def consume = raise(TypeError, "no") }
  own = group
  consumer = Class.new(Guildhall::Kafka::Consumer) do
    def consume
      messages.each do |message|
        raise KeyError, "no price" if message.payload["id"] == 13

        mark_as_consumed(message)
      end
    end
  end
  configure(commit_interval: 0.2, reports: {topic: reports}, release: "4f1c2e9")
  routes do
    topic(name) do
      consumer consumer
      deserializer Guildhall::JSON.lazy
    end
    topic(bad) do
      consumer refusing
      dead_letter_queue topic: dead, max_retries: 0
    end
  end
  web = Guildhall::Web.new(authorize: ->(_request, action, _target) { action })
  data = ->(path) { JSON.parse(Rack::MockRequest.new(web).get("#{path}?format=json").body) }

  recorded = RecordedReports.new
  write = lambda do |*all|
    producer = Rdkafka::Config.new("bootstrap.servers": @servers).producer
    all.each do |one, ago|
      record = recorded.record(one, ago:)
      producer.produce(topic: reports, partition: record.partition, key: record.key, payload: record.raw_payload, headers: record.headers,
        timestamp: record.timestamp_ms).wait
    end
  ensure
    producer.close
  end
  # Longer ago than what a page reads first.
  older = {**recorded.any("minute", "before:7:a", 10_000), "topics" => [{"group" => own, "topic" => name, "age" => 77.0}]}
  write.call([older, 10_000], [older, 9_900])

  # The release before, which had no errors.
  write.call([{**recorded.any("event", "former:7:a", 300), "name" => "started", "text" => "started", "release" => "a03b771"}, 300])

  produce(name, Array.new(20) { |id| {payload: JSON.generate(id:), key: "k", partition: id % 2} })
  start
  eventually("the process reports") { data.call("/processes")["rows"].map { |row| row.values_at("state", "partitions") } == [["running", 3]] }
  process = data.call("/processes")["rows"][0]
  equal("4f1c2e9", process["release"], "the process")
  eventually("the brokers' name of the member leads to its process") do
    found = data.call("/groups/#{own}")
    [*found["members"], *found["partitions"]].map { |row| row["process"] }.uniq == [process["name"]]
  end
  eventually("what fails") { data.call("/groups/#{own}/#{name}")["rows"].any? { |row| row["state"] == "backoff" } }
  worst = data.call("/groups/#{own}/#{name}")["rows"][0]
  equal(1, worst["partition"], "the worst comes first")
  check(worst["why"].include?("KeyError: no price"), worst["why"])
  eventually("the release, by its first error") do
    data.call("/")["attention"].any? do |one|
      [*one["why"], *one["more"]].join.match?(/KeyError.*began with release 4f1c2e9, as soon as that was started; release a03b771 before it did not have this error/)
    end
  end
  produce(bad, [{payload: "1"}])
  letters = nil
  at = Guildhall::Clock.now
  eventually("dead letters") { letters = data.call("/")["attention"].find { |one| one["label"] == "dead letters" } }
  check(Guildhall::Clock.now - at < 15, "a bad release is recognised within 15 s: #{Guildhall::Clock.now - at}")
  equal([dead, "bad", true], [letters["topic"], letters["kind"], letters["why"].include?("release a03b771 before it did not")], "what it says: #{letters}")
  eventually("the group's page counts them") { data.call("/groups/#{own}")["topics"].any? { |one| one["name"] == bad && one["dead"] == 1 } }
  cause = nil
  eventually("its cause") { cause = data.call("/errors")["rows"].find { |row| row["class"] == "KeyError" } }
  equal([[name, 1]], data.call("/errors/#{cause["fingerprint"]}")["samples"].map { |sample| sample.values_at("topic", "partition") }, "a message of it")
  eventually("the overview leads to it, once it has failed for ten seconds") do
    data.call("/")["attention"].any? { |one| one["topic"] == name && one["partitions"] && one["fingerprint"] == cause["fingerprint"] }
  end
  check(data.call("/changes")["rows"].any? { |row| row["name"] == "started" }, "what changed")
  stop
  eventually("it has ended in order") { data.call("/processes")["rows"].map { |row| row["state"] } == ["stopped"] }

  # One that was killed ten minutes ago: of its state nothing lies in what a page reads first.
  gone = "gone:7:a"
  minute = {**recorded.any("minute", gone, 600), "rss" => 1, "seconds" => 60, "topics" => []}
  state = {**recorded.any("state", gone, 600), "state" => "running", "host" => "gone", "pid" => 7, "rss" => 812 << 20, "rss_limit" => 838 << 20, "topics" => []}
  write.call([minute, 600], [state, 600])

  # Another page, opened later.
  web.close
  check(Thread.list.none? { |thread| thread.name == "guildhall dashboard" }, "it does not read any more")
  again = Guildhall::Web.new(authorize: ->(_request, action, _target) { action })
  eventually("what was before") { JSON.parse(Rack::MockRequest.new(again).get("/errors?format=json").body)["rows"].any? { |row| row["class"] == "KeyError" } }
  lost = JSON.parse(Rack::MockRequest.new(again).get("/processes?format=json").body)["rows"].find { |row| row["name"] == gone }
  equal(["lost", 812 << 20], lost&.values_at("state", "rss"), "the last words of a process that was killed before")
  check(Rack::MockRequest.new(again).get("/").body.include?("has probably killed it for its memory"), "what is said of it")
  chart = ->(hours) { JSON.parse(Rack::MockRequest.new(again).get("/groups/#{own}/#{name}?format=json&hours=#{hours}").body)["chart"] }
  eventually("a longer chart, of what was not read before") { chart.call(6)&.fetch("lines")&.any? { |line| line["values"].include?(77.0) } }
  again.close
end
