# frozen_string_literal: true

# broker: real (the embedded one neither compacts nor describes topics)
#
# Proves that pages and memory stay small where messages are large, and that the dashboard's explorer reads what is there when it changes between two pages: messages that are deleted, compacted away, or
# come in; no message twice, none left out, and no page waits for offsets that are gone.
require_relative "../support/scenario"
require "guildhall/web"
require "rack/mock_request"

Scenario.run do
  web = Guildhall::Web.new(authorize: ->(*) { true })
  read = lambda do |name, **query|
    query = {format: "json", **query}.map { |field, value| "#{field}=#{Rack::Utils.escape(value)}" }.join("&")
    response = Rack::MockRequest.new(web).get("/topics/#{name}/messages?#{query}")
    equal(200, response.status, response.body)
    JSON.parse(response.body)
  end
  offsets = ->(page) { page["rows"].map { |row| row["offset"] } }
  delete = lambda do |name, offset|
    client(:admin) { |admin| admin.delete_records(name => [{partition: 0, offset:}]).wait(max_wait_timeout_ms: 60_000) }
    sleep(Guildhall::Web::FRESH_SECONDS + 0.1)
  end
  configure

  name = topic
  produce(name, Array.new(180) { |id| {payload: JSON.generate(id:), partition: 0} })
  newest = read.call(name)
  equal([*130..179].reverse, offsets.call(newest), "newest")
  oldest = read.call(name, from: "earliest")
  equal([*0..49], offsets.call(oldest), "oldest")
  delete.call(name, 100)
  produce(name, Array.new(5) { |id| {payload: JSON.generate(id: 180 + id), partition: 0} })
  second = read.call(name, rest: newest["rest"])
  equal([[*100..129].reverse, nil], [offsets.call(second), second["rest"]], "newest, after others were deleted")
  equal([*100..149], offsets.call(read.call(name, from: "earliest", rest: oldest["rest"])), "oldest: goes on at what is left")
  equal([*100..149], offsets.call(read.call(name, from: "offset", at: "7", partition: "0")), "an offset that is gone")
  delete.call(name, 185)
  equal([[], nil], [offsets.call(read.call(name, rest: newest["rest"])), read.call(name)["rest"]], "all are gone")
  equal(false, JSON.parse(Rack::MockRequest.new(web).get("/topics/#{name}/0/120?format=json").body)["found"], "one that is gone")

  compacted = "compacted-#{group}"
  settings = {"cleanup.policy" => "compact", "segment.ms" => "1", "min.cleanable.dirty.ratio" => "0.0", "delete.retention.ms" => "0"}
  client(:admin) { |admin| admin.create_topic(compacted, 1, 1, settings).wait(max_wait_timeout_ms: 60_000) }
  produce(compacted, Array.new(120) { |id| {payload: JSON.generate(id:), key: "k#{id % 4}", partition: 0} })
  first = read.call(compacted)
  5.times { |id| produce(compacted, [{payload: JSON.generate(id: 120 + id), key: "late#{id}", partition: 0}]) && sleep(0.05) }
  eventually("compacted", 60) { offsets.call(read.call(compacted, from: "earliest")).size < 30 }
  sleep(Guildhall::Web::FRESH_SECONDS + 0.1)
  rest = read.call(compacted, rest: first["rest"])
  equal([true, nil], [offsets.call(rest).all? { |offset| offset < 70 }, rest["rest"]], "what is left before")
  left = offsets.call(read.call(compacted, from: "earliest"))
  equal([left.reverse, left.uniq], [offsets.call(read.call(compacted)), left], "all that is left, both ways")
  equal([119], offsets.call(read.call(compacted, where: "$.id == 119")), "found among gaps")

  large = "large-#{group}"
  client(:admin) { |admin| admin.create_topic(large, 1, 1, {"max.message.bytes" => "30000000"}).wait(max_wait_timeout_ms: 60_000) }
  client(:producer, "message.max.bytes": 30_000_000) do |producer|
    20.times { |id| producer.produce(topic: large, partition: 0, payload: JSON.generate([id, "x" * 20_000_000])).wait }
  end
  memory = -> { File.read("/proc/self/status")[/VmHWM:\s+(\d+)/, 1].to_i / 1_000 }
  before = memory.call
  seen = []
  page = read.call(large)
  until (seen += offsets.call(page)).size > 2 || page["rest"].nil? # a page ends after 10 s: on a busy machine it may show none
    page = read.call(large, rest: page["rest"])
  end
  equal([*0..19].reverse.first(seen.size), seen, "large ones, newest first")
  equal("It is too large to be shown here.", JSON.parse(Rack::MockRequest.new(web).get("/topics/#{large}/0/7?format=json").body)["note"], "a page")
  equal(20_000_006, Rack::MockRequest.new(web).get("/topics/#{large}/0/7/payload").body.bytesize, "a download")
  check(memory.call - before < 400, "#{before} MB, and at most #{memory.call}")
  puts("large: #{before} MB, at most #{memory.call} MB, shown #{seen.size}")
  web.close
end
