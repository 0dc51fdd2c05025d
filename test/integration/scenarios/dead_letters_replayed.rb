# frozen_string_literal: true

# broker: real (the embedded one forgets offsets that are sent to a transaction)
# stress: ten times as many
#
# Proves that `guildhall dlq list` and `show` print what dead letter topics hold, as a table and as JSON; that `guildhall dlq replay`
# sends dead letters back with their bytes, keys, headers and partitions, all, the rest, by offsets or by name, to where they came from or
# elsewhere; that each is marked by itself, as replayed or (`guildhall dlq discard`) as discarded, and left out then; and that a replay that
# is interrupted, or killed again and again, passes nothing over, replays nothing twice and goes on where it was.
require_relative "../support/scenario"
require "json"
require "open3"
require "tempfile"

APPLICATION = <<~'RUBY'
  Rdkafka::Config.logger = Logger.new($stderr, level: Logger::FATAL)
  class Idle < Guildhall::Kafka::Consumer
    def consume; end
  end
  Guildhall::Kafka.configure do |config|
    config.kafka = {"bootstrap.servers": ENV.fetch("SERVERS"), "session.timeout.ms": 6_000}
    config.group_id = ENV.fetch("GROUP")
  end
  Guildhall::Kafka.routes do
    topic(ENV.fetch("TOPIC")) { consumer(Idle) && dead_letter_queue(topic: ENV.fetch("DEAD")) }
  end
RUBY

SOURCE = %w[source_topic source_partition source_offset source_consumer_group source_attempts source_error_class].freeze

Scenario.run do
  partitions = 2
  name = topic(partitions:)
  dead = topic(name: "dead", partitions:)
  other = topic(name: "other")
  file = Tempfile.create(["application", ".rb"]).tap { |one| one.write(APPLICATION) && one.close }
  environment = {"SERVERS" => servers, "GROUP" => group, "TOPIC" => name, "DEAD" => dead}
  command = ->(*words) { [environment, RbConfig.ruby, Scenario::COMMAND, "dlq", *words] }
  arguments = ->(action, *options) { [action, "-r", file.path, *options] }
  dlq = lambda do |action, *options, status: 0|
    out, err, ended = guildhall("dlq", *arguments.call(action, *options), env: environment)
    equal(status, ended.exitstatus, "status of dlq #{action} #{options.join(" ")} (#{out}#{err})")
    [out, err]
  end
  # partition => payloads, in order
  back = lambda do |topic, least|
    seen = Hash.new { |hash, partition| hash[partition] = [] }
    client(:consumer, **client_settings, "group.id": "back-#{rand}") do |consumer|
      consumer.subscribe(topic)
      eventually("#{least} messages of #{topic}") do
        while (message = consumer.poll(500)) # until no more come
          seen[message.partition] << message
        end
        seen.sum { |_, list| list.size } >= least
      end
    end
    seen
  end
  dead_letter = lambda do |number, error = "RuntimeError"|
    origin = [name, ((number + 1) % 2).to_s, (1_000 + number).to_s, group, "3", error]
    {payload: number == 3 ? "\xFF\x00".b : "payload #{number}", key: "k#{number}", partition: number % 2,
     headers: {"h" => %w[a b], "i" => number.to_s, **SOURCE.zip(origin).to_h}}
  end

  out, = dlq.call("list")
  equal("0 of 0 dead letters in #{dead}", out.lines(chomp: true).last, "an empty list")
  out, = dlq.call("replay", "--rest")
  equal((0..1).map { |partition| "#{dead}/#{partition}: nothing to replay" }, out.lines(chomp: true), "the rest, before the first dead letter")
  produce(dead, (0...10).map { |number| dead_letter.call(number, number == 4 ? "Timeout::Error" : "RuntimeError") })
  out, = dlq.call("list", "--limit", "4")
  lines = out.lines(chomp: true)
  equal(6, lines.size, "lines\n#{out}")
  check(lines.first.match?(/\ADEAD LETTER +WHEN +FROM +GROUP +ATTEMPTS +ERROR +AT +BYTES +MARK\z/), "headings #{lines.first}")
  check(lines[1..4].all? { |line| line.match?(%r{\A#{dead}/\d@\d +\d{4}-\S+ \S+ +#{name}/\d@100\d +#{group} +3 +RuntimeError +- +\d+ +-\z}) }, out)
  equal("4 of 10 dead letters in #{dead}", lines.last, "the last line")
  out, = dlq.call("list", "--error", "Timeout::Error")
  equal(["#{dead}/0@2"], out.lines[1..-2].map { |line| line.split.first }, "by error class")
  equal([0, 10], ["another", group].map { |one| dlq.call("list", "--group", one).first.lines.last.to_i }, "by consumer group")
  out, = dlq.call("list", "--json", "--partition", "1", "--offsets", "1..2")
  reported = out.lines.map { |line| JSON.parse(line) }
  equal([["k3", nil, "/wA=", 1003], ["k5", "payload 5", nil, 1005]],
    reported.map { |one| one.values_at("key", "payload", "payload_base64", "source_offset") }, "as JSON")
  equal({"h" => %w[a b], "i" => ["3"]}, reported.first["headers"], "headers as JSON")

  _, err = dlq.call("replay", status: 2)
  check(err.include?("one of --all, --rest and --offsets"), err)
  _, err = dlq.call("replay", "--rest", status: 2)
  check(err.include?("nothing of #{dead} was replayed yet"), err)
  _, err = dlq.call("replay", "--all", "--to", other.sub("other", "othr"), status: 2)
  check(err.include?("did you mean #{other}?"), err)
  _, err = dlq.call("list", "--offsets", "x", status: 2)
  check(err.include?("--offsets takes 7, 7..12"), err)
  out, = dlq.call("replay", "--all", "--dry-run")
  equal("#{dead}: 10 dead letters would be replayed\n", out, "a dry run")

  out, = dlq.call("replay", "--offsets", "1..2", "--partition", "0", "--to", other)
  equal("#{dead}/0: 2 of 2 dead letters replayed (offsets 1 to 2)\n", out, "by offsets")
  equal(["payload 2", "payload 4"], back.call(other, 2).values.flatten.map(&:payload), "replayed elsewhere")
  out, = dlq.call("replay", "--all")
  equal((0..1).map { |partition| "#{dead}/#{partition}: 5 of 5 dead letters replayed (offsets 0 to 4)" }, out.lines(chomp: true), "all")
  seen = back.call(name, 10)
  equal([[1, 3, 5, 7, 9], [0, 2, 4, 6, 8]], seen.sort.map { |_, list| list.map { |one| one.headers["i"].to_i } }, "partitions and order")
  seen.each_value do |list|
    list.each do |one|
      sent = dead_letter.call(one.headers["i"].to_i)
      equal([sent[:payload].b, sent[:key].b, {"h" => %w[a b], "i" => one.headers["i"]}], [one.payload.b, one.key.b, one.headers], "as it was")
    end
  end
  out, = dlq.call("list", "--limit", "0")
  check(out.lines[1..10].all? { |line| line.end_with?("replayed\n") }, "not shown as replayed:\n#{out}")

  produce(dead, [10, 12, 14].map { |number| {**dead_letter.call(number), partition: 0} })
  out, = dlq.call("discard", "#{dead}/0@6")
  equal("#{dead}: 1 dead letter was discarded\n", out, "one is discarded")
  marks = -> { dlq.call("list", "--json", "--partition", "0", "--offsets", "5..").first.lines.map { |line| JSON.parse(line)["mark"] } }
  equal([nil, "discarded", nil], marks.call, "marks")
  out, = dlq.call("replay", "--rest", "--dry-run")
  equal("#{dead}: 2 dead letters would be replayed\n", out, "the rest is without what was discarded")
  dlq.call("replay", "#{dead}/0@7")
  equal([nil, "discarded", "replayed"], marks.call, "one is replayed by name")
  out, = dlq.call("list", "--open")
  equal(["#{dead}/0@5"], out.lines[1..-2].map { |line| line.split.first }, "open ones")
  out, = dlq.call("show", "#{dead}/0@6")
  check(out.include?("mark        discarded") && out.include?("#{name}/1@1012") && out.end_with?("payload 12\n\n"), "shown:\n#{out}")
  _, err = dlq.call("show", "#{dead}/0@99", status: 2)
  check(err.include?("there is no dead letter #{dead}/0@99"), err)
  dlq.call("replay", "--rest")
  equal(%w[replayed discarded replayed], marks.call, "after the rest")
  equal(["nothing to replay"], dlq.call("replay", "--rest").first.lines.map { |line| line[/nothing to replay/] }.uniq, "nothing is left")
  equal([10, 14], back.call(name, 12).values.flatten.map { |one| one.headers["i"].to_i }.select { |number| number > 9 }.sort, "what came back")

  count = long? ? 40_000 : 4_000
  produce(dead, (0...count).map { |i| {**dead_letter.call(20 + i), partition: 0} })
  start_replay = -> { Process.spawn(*command.call(*arguments.call("replay", "--rest")), out: File::NULL, err: File::NULL) }
  position = -> { committed(dead, group: "#{group}.replay").first }
  kills = 0
  3.times do
    before = position.call
    pid = start_replay.call
    eventually("some were replayed") { position.call > before || Process.waitpid(pid, Process::WNOHANG) }
    Process.kill(:KILL, pid)
    Process.wait(pid)
    kills += 1
  rescue Errno::ESRCH, Errno::ECHILD
    break # it has ended
  end
  produce(dead, (0...500).map { |i| {**dead_letter.call(20 + count + i), partition: 0} })
  out, err, status = nil
  Open3.popen3(*command.call(*arguments.call("replay", "--rest"))) do |_, stdout, stderr, thread|
    before = position.call
    eventually("some more were replayed") { position.call > before || !thread.alive? }
    readers = [stdout, stderr].map { |io| Thread.new { io.read } }
    Process.kill(:INT, thread.pid) if thread.alive?
    check(thread.join(Scenario::LIMIT), "the replay has not ended after INT")
    out, err = readers.map(&:value)
    status = thread.value.exitstatus
  end
  notes << out.lines(chomp: true).last
  unless status.zero? # it was done before the signal came
    check(status == 130 && out.include?("interrupted; continue with guildhall dlq replay --rest --topic #{dead}"), "interrupted: #{out}#{err}")
  end
  dlq.call("replay", "--rest")
  out, = dlq.call("replay", "--rest")
  equal(["#{dead}/0: nothing to replay", "#{dead}/1: nothing to replay"], out.lines(chomp: true), "the rest of the rest")
  numbers = back.call(name, 12 + count + 500).values.flatten.map { |one| one.headers["i"].to_i }
  equal([*0..10, 14, *20...(20 + count + 500)], numbers.uniq.sort, "all are back")
  equal(numbers.uniq.size, numbers.size, "none came twice after #{kills} kills")
  notes << "#{kills} kills"
ensure
  File.delete(file) if file
end
