# frozen_string_literal: true

# broker: real (the embedded one describes neither topics nor groups)
#
# Proves that the dashboard says of a real cluster what is so: a group that waits, where each message stands, dead letters by cause, which
# of them were discarded; and that `guildhall web` serves it, opens to others only with a name or without payloads, and ends at once.
require_relative "../support/scenario"
require "guildhall/web"
require "rack/mock_request"
require "net/http"

Scenario.run do
  partitions = 2
  name = topic(partitions:)
  dead = topic(name: "dead")
  own = group
  consumer = Class.new(Guildhall::Kafka::Consumer) do
    def consume
      messages.each do |message|
        raise KeyError, "no price" if message.payload["id"] % 10 == 3

        mark_as_consumed(message)
      end
    end
  end
  configure(commit_interval: 0.2)
  routes do
    topic(name) do
      consumer consumer
      deserializer Guildhall::JSON.lazy
      dead_letter_queue topic: dead, max_retries: 0
    end
  end
  web = Guildhall::Web.new(authorize: ->(_request, action, _target) { action })
  page = ->(path, data: true) { Rack::MockRequest.new(web).get("#{path}#{"?format=json" if data}") }
  data = ->(path) { JSON.parse(page.call(path).body) }
  html = lambda do |path|
    response = page.call(path, data: false)
    equal(200, response.status, "#{path}: #{response.body[/<h2>This page.*/m]}")
    response.body
  end

  produce(name, Array.new(40) { |id| {payload: JSON.generate(id:), key: "k#{id % 4}", partition: id % 2} })
  start
  eventually("committed") { committed(name, partitions:, group: own) == [20, 20] }
  equal("ok", data.call("/groups/#{own}")["group"]["kind"], "a member is there")
  stop
  produce(name, Array.new(10) { |id| {payload: id == 7 ? "{broken" : JSON.generate(id: 100 + id), key: "late", partition: 0} })
  sleep(Guildhall::Web::FRESH_SECONDS + 0.1)

  found = data.call("/groups/#{own}")
  equal(["no members", 10], [found["group"]["word"], found["group"]["messages"]], "the group")
  equal([[name, 0, 20, 30, 10], [name, 1, 20, 20, 0]], found["partitions"].map { |row| row.values_at("topic", "partition", "committed", "end", "messages") },
    "partitions, what is behind first")
  check(data.call("/")["attention"].any? { |one| one.values_at("group", "what") == [own, "has no members"] }, html.call("/"))
  check(html.call("/groups").include?(own) && html.call("/topics").include?(name), "lists")
  equal([30, 20], data.call("/topics/#{name}")["partitions"].map { |row| row["end"] }, "the topic")
  check(html.call("/topics/#{name}").include?("Partitions"), "the topic's page")

  newest = data.call("/topics/#{name}/messages")
  equal([[*(0..29).to_a.reverse.map { |offset| [0, offset] }, *(0..19).map { |offset| [1, offset] }].sort, true],
    [newest["rows"].map { |row| row.values_at("partition", "offset") }.sort, newest["rest"].nil?], "all messages")
  matching = JSON.parse(Rack::MockRequest.new(web).get("/topics/#{name}/messages?format=json&where=#{Rack::Utils.escape("$.id >= 108")}").body)
  equal([[0, 29], [0, 28], [0, 27]], matching["rows"].map { |row| row.values_at("partition", "offset") }, "those that match, and what cannot be decoded")
  check(matching["rows"].last["error"].include?("ParseError"), matching["rows"].last.inspect)
  equal(["done", "not yet"], [3, 25].map { |offset| data.call("/topics/#{name}/0/#{offset}")["groups"].first["word"] }, "what became of two")
  check(html.call("/topics/#{name}/0/25").include?("105"), "the payload")

  letters = data.call("/dead-letters/#{dead}")
  equal([4, 4, [["KeyError", 4]]], [letters["open"], letters["total"], letters["causes"].map { |cause| cause.values_at("error", "letters") }], "dead letters")
  Guildhall::Kafka.application.dead_letters(dead) { |one| Guildhall::Kafka::Broker::Discard.new(one).run({0 => 0...1}) }
  equal([3, 4], data.call("/dead-letters/#{dead}").values_at("open", "total"), "one was discarded")
  equal([true], data.call("/status")["checks"].map { |check| check["ok"] }.uniq, "checks")
  check(html.call("/dead-letters").include?(dead) && html.call("/schedule").include?("No tasks") && html.call("/status").include?("broker"), "the others")
  web.close

  brokers = ["--brokers", ENV.fetch("KAFKA_BOOTSTRAP_SERVERS")]
  _, err, status = guildhall("web", "--bind", "0.0.0.0", *brokers)
  equal([2, true], [status.exitstatus, err.include?("add --user NAME")], err)
  served = lambda do |*arguments, env: {}, &block|
    reader, writer = IO.pipe
    pid = spawn({**env}, RbConfig.ruby, File.expand_path("../../../exe/guildhall", __dir__), "web", "--port", "0", *brokers, *arguments, err: writer)
    writer.close
    port = Integer(reader.gets.to_s[%r{:(\d+)/}, 1] || raise("it does not start: #{reader.read}"))
    block.call(lambda { |path, user = nil|
      request = Net::HTTP::Get.new(path)
      request.basic_auth(*user) if user
      Net::HTTP.start("127.0.0.1", port) { |http| http.request(request) }
    })
    Process.kill(:INT, pid)
    _, ended = Process.wait2(pid)
    pid = nil
    equal(0, ended.exitstatus, "ended by Ctrl-C: #{reader.read}")
  ensure
    pid && Process.kill(:KILL, pid) && Process.wait(pid)
  end
  served.call do |get|
    equal("200", get.call("/topics/#{name}").code, "on this machine")
    check(get.call("/topics/#{name}/messages").body.include?("late"), "keys are shown")
  end
  served.call("--open", "--bind", "0.0.0.0") do |get|
    body = get.call("/topics/#{name}/messages").body
    check(body.include?("hidden from you") && !body.include?("late") && !body.include?("broken"), "open: payloads are hidden")
    equal("403", get.call("/topics/#{name}/messages?key=late").code, "nor can be searched for")
  end
  served.call("--user", "ada", env: {"GUILDHALL_WEB_PASSWORD" => "secret"}) do |get|
    equal(%w[401 401 200], [nil, %w[ada wrong], %w[ada secret]].map { |user| get.call("/topics", user).code }, "with a name")
  end
end
