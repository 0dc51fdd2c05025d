# frozen_string_literal: true

# Proves that `guildhall read --where` finds each message that fits, once and in order within its partition, however the search is cut into
# parts by limits, by Ctrl-C or by a reader that closes the pipe, each part continued by the command that it names; on a real broker also by
# time, without aborted messages, and by time after which nothing comes; and that `guildhall produce --json-lines` makes of what
# `guildhall read --json` has printed the same messages in another topic.
require_relative "../support/scenario"
require "json"
require "open3"
require "shellwords"

Scenario.run do
  partitions = 3
  count = long? ? 60_000 : 3_000 # in each partition
  name = topic(partitions:)
  copy = topic(name: "copy", partitions:)
  produce(name, Array.new(count * partitions) { |i| {payload: %({"n":#{i},"text":"#{i.even? ? "even" : "\\u006fdd"}"}), partition: i % partitions, key: i.to_s, headers: {"h" => "1"}} })
  address = String.new(servers) # the embedded broker's is more than that
  command = ->(*words) { [RbConfig.ruby, Scenario::COMMAND, *words, "-b", address] }
  numbers = ->(text) { text.lines.map { |line| JSON.parse(line).fetch("n") } }
  in_order = ->(found) { found.group_by { |number| number % partitions }.values.all? { |some| some == some.sort.uniq } }
  read = lambda do |*options|
    out, err, status = guildhall("read", name, *options, "-b", address)
    [out, err, status.exitstatus]
  end

  expected = (0...(count * partitions)).select { |number| number.odd? && number > 500 }
  condition = %($.text == "odd" && $.n > 500)
  out, err, status = read.call("--where", condition, "-o", "raw")
  found = numbers.call(out)
  equal([expected, 0], [found.sort, status], "found at once (#{err})")
  check(in_order.call(found), "not in order")

  arguments = ["--where", condition, "--limit", (expected.size / 4).to_s, "-o", "raw"]
  found = []
  parts = 0
  while arguments
    out, err, = read.call(*arguments)
    found.concat(numbers.call(out))
    parts += 1
    continued = err[/to continue: (.*)$/, 1]
    arguments = continued && Shellwords.split(continued).drop(3).then { |words| words.take(words.index("-b")) + words.drop(words.index("-b") + 2) }
  end
  equal(expected, found.sort, "found in #{parts} parts")
  check(parts > 3, "#{parts} parts only")

  equal(["", 1], read.call("--where", "$.n < 0", "--quiet").values_at(0, 2), "nothing found")
  _, status = Open3.capture2e("sh", "-c", "#{Shellwords.join(command.call("read", name, "--format", "raw"))} | head -1")
  check(status.success?, "a closed pipe")

  Open3.popen3(*command.call("read", name, "--follow", "-o", "raw", "--from", "earliest")) do |_, output, error, thread|
    lines = Array.new(count * partitions) { output.gets }
    Process.kill("INT", thread.pid)
    equal((0...(count * partitions)).to_a, numbers.call(lines.join).sort, "followed")
    equal(130, thread.value.exitstatus, "status after Ctrl-C")
    check(error.read.include?("to continue: guildhall read #{name}"), "how to continue")
  end

  printed, = read.call("--json")
  _, err, status = Open3.capture3(*command.call("produce", copy, "--json-lines"), stdin_data: printed)
  equal(0, status.exitstatus, err)
  out, = guildhall("read", copy, "--json", "-b", address)
  contents = ->(text) { text.lines.map { |line| JSON.parse(line).values_at("partition", "offset", "timestamp", "key", "headers", "payload") }.sort }
  equal(contents.call(printed), contents.call(out), "copied")
  next if embedded

  sleep(0.3)
  moment = "@#{(Time.now.to_f * 1000).to_i}"
  sleep(0.3)
  client(:producer, "transactional.id": "search-#{@id}") do |producer|
    producer.init_transactions
    %i[commit_transaction abort_transaction].each_with_index do |finish, index|
      producer.begin_transaction
      producer.produce(topic: name, payload: %({"n":#{-1 - index}}), partition: 0).wait(max_wait_timeout_ms: 60_000)
      producer.public_send(finish)
    end
  end
  equal([[-1], 0], read.call("--where", "$.n < 0", "-o", "raw").then { |text, _, ended| [numbers.call(text), ended] }, "without the aborted one")
  equal([-1], numbers.call(read.call("--from", moment, "-o", "raw").first), "since a time")
  equal(count * partitions, read.call("--until", moment, "-o", "raw").first.lines.size, "until a time")
  equal(["", 1], read.call("--from", "@#{Time.now.to_i + 3_600}", "--quiet").values_at(0, 2), "from a time to come")
end
