# frozen_string_literal: true

# broker: real (the embedded one holds a request for commands back until its time is over)
#
# Proves that a running process does what commands ask of it, and says so without any other setting; that none is carried out that nobody
# with the key has signed, that comes again, that has expired, that is for another process or group, or that expects what is not so any more;
# and that `guildhall command` sends them.
require "tempfile"
require "guildhall/kafka/commanding/commander"
require_relative "../support/scenario"

APPLICATION = <<~'RUBY'
  require "guildhall/kafka"
  Guildhall::Kafka.configure do |config|
    config.kafka = {"bootstrap.servers": ENV.fetch("SERVERS")}
    config.group_id = ENV.fetch("GROUP")
    config.commands = {public_key: ENV.fetch("PUBLIC"), topic: ENV.fetch("COMMANDS")}
    config.logger = nil
  end
  Guildhall::Kafka.routes { topic(ENV.fetch("TOPIC")) { consumer(Class.new(Guildhall::Kafka::Consumer) { def consume = nil }) } }
RUBY

Scenario.run do
  commanding = Guildhall::Kafka::Commanding
  private_key, public_key = commanding::Keys.generate
  own = "commands-#{group}"
  name = topic(partitions: 2)
  seen = Thread::Queue.new
  fails = true
  consumer = Class.new(Guildhall::Kafka::Consumer) do
    define_method(:consume) do
      messages.each_marking do |message|
        raise KeyError, "no" if fails && message.payload == "bad"

        seen << [message.partition, message.offset]
      end
    end
  end
  configure(commit_interval: 0.2, pause_timeout: 60, pause_max_timeout: 60, commands: {public_key:, topic: own, allow: commanding::ACTIONS},
    logger: Logger.new(log = StringIO.new))
  routes do
    topic(name) do
      consumer consumer
      deserializer ->(payload) { payload }
    end
  end
  start
  process = Guildhall::Kafka.application.process_name
  commander = Guildhall::Kafka.commander(private_key:)
  first = {group:, topic: name, partition: 0}
  ask = lambda do |action, target = first, by: commander, wait: 60, **given|
    answer = by.issue(action, target, by: "ada", why: "to see", wait:, **given)
    answer.outcomes.map { |one| [one.outcome, one.reason] }.first
  end
  done = lambda do |action, target = first, **given|
    outcome, reason = ask.call(action, target, **given)
    equal(:done, outcome, "#{action}: #{reason}")
    reason
  end
  partition = ->(number = 0) { Guildhall::Kafka.application.partitions.find { |one| one.number == number } }

  produce(name, Array.new(10) { |id| {payload: id == 4 ? "bad" : "good", partition: 0} })
  eventually("it backs off") { partition.call&.snapshot&.state == :backoff }
  eventually("commands are read") { log.string.include?("commands failed") || ask.call(:retry, wait: 1, expires: 1) }
  equal(4, partition.call.position, "position")

  done.call(:pause, args: {seconds: 600})
  check(partition.call.snapshot.rests.key?(:command), "paused")
  fails = false
  done.call(:retry)
  produce(name, [{payload: "good", partition: 1}])
  eventually("the other partition goes on") { drain(seen).include?([1, 0]) }
  equal([4, :paused], [partition.call.position, partition.call.snapshot.state], "the paused one does not")
  equal(:refused, ask.call(:seek, args: {to: 8}, expect: {position: 5}).first, "another position")
  check(done.call(:seek, args: {to: 8}, expect: {position: 4}).include?("4 offsets will not be consumed"), "seek")
  eventually("the seek is committed") { committed(name, partitions: 2).first == 8 }
  done.call(:resume)
  eventually("it goes on there") { committed(name, partitions: 2).first == 10 }
  equal([[0, 8], [0, 9]], drain(seen), "consumed")
  check(done.call(:trace, {process:}).include?("threads"), "trace")
  check(log.string.include?("guildhall commands") && log.string.match?(/WARN.*command: pause seconds=600 of #{name}.0 \(group #{group}\), by ada: to see/), log.string[-2_000..])
  done.call(:quiet, {process:})
  check(Guildhall::Kafka.application.quiet?, "quiet")
  done.call(:resume, {process:})
  check(!Guildhall::Kafka.application.quiet?, "not quiet")
  check(done.call(:pause, {group:}, args: {seconds: 600}).start_with?("2 partitions"), "a group")
  done.call(:resume, {group:})

  # What is not carried out.
  before = Guildhall::Kafka.application.partitions.map { |one| [one.number, one.snapshot.rests.keys] }
  other = Guildhall::Kafka.application.commander(private_key: commanding::Keys.generate.first)
  unsigned = Guildhall::Kafka.application.commander(private_key: nil)
  [[{by: other}], [{by: unsigned}], [{}, {group: "another", topic: name, partition: 0}], [{}, {group:, topic: name, partition: 2}]].each do |given, target = first|
    equal(nil, ask.call(:pause, target, args: {seconds: 600}, wait: 1, **given), "#{given} #{target}")
  end
  equal(nil, ask.call(:stop, {process: "#{process}x"}, wait: 1), "another process")
  check(drain(@errors).map { |one| one[:error].message }.any? { |text| text.include?("signature is missing, or not of the key") }, "a forged one is reported")
  {process: "host:1:a", position: 3, assigned: Time.now.to_f - 1_000}.each do |what, value|
    equal(:refused, ask.call(:pause, args: {seconds: 600}, expect: {what => value}).first, "expect #{what}")
  end
  since = Time.now.to_f - partition.call.snapshot.assigned
  done.call(:retry, expect: {process:, position: 10, assigned: since})
  again = commanding::Command.make(action: :pause, target: first, by: "ada", why: "again", id: "again-#{group}", args: {seconds: 600})
  send = lambda do |command|
    payload = command.encode
    produce(own, [{payload:, headers: {"signature" => commanding::Keys.sign(commanding::Keys.private(private_key), payload)}, partition: 0}])
  end
  send.call(again)
  eventually("paused") { partition.call.snapshot.rests.key?(:command) }
  done.call(:resume)
  send.call(again)
  send.call(again.with(id: "late-#{group}", at: Time.now.to_f - 31))
  send.call(again.with(id: "early-#{group}", at: Time.now.to_f + 60))
  done.call(:retry) # comes behind those
  equal(before, Guildhall::Kafka.application.partitions.map { |one| [one.number, one.snapshot.rests.keys] }, "nothing was done")
  check(log.string.match?(/it has expired: \d\d s old/) && log.string.match?(/clock is \d\d s ahead/), "the reasons are logged: #{log.string}")

  # From the command line.
  application = Tempfile.create(["application", ".rb"]).tap { |file| file.write(APPLICATION) && file.close }
  environment = {"SERVERS" => servers, "GROUP" => group, "TOPIC" => name, "COMMANDS" => own, "PUBLIC" => public_key,
                 "GUILDHALL_COMMANDS_PRIVATE_KEY" => private_key}
  cli = ->(*arguments, **env) { guildhall("command", *arguments, "-r", application.path, env: {**environment, **env}) }
  out, err, status = cli.call("pause", "#{name}/1", "--for", "10m", "--why", "from the shell")
  equal([0, true], [status.exitstatus, out.start_with?("done by #{process}: #{name}/1: paused until")], "#{out}#{err}")
  out, err, status = cli.call("seek", "#{name}/1", "--to", "earliest", "--why", "again", "--yes")
  equal([0, true, true], [status.exitstatus, out.include?("from 1 to 0"), err.include?("0 offsets never consumed, 1 consumed again")], "#{out}#{err}")
  _, err, status = cli.call("retry", "#{name}/7", "--why", "x", "--wait", "1")
  equal([1, true], [status.exitstatus, err.include?("no process has answered")], err)
  [["pause", "#{name}/1", "--why", "x"], ["pause", "#{name}/1", "--for", "1h"], ["retry", "--why", "x"], ["retry", "#{name}/x", "--why", "x"],
   ["pause", "#{name}/1", "--for", "48h", "--why", "x"], ["seek", name, "--to", "1", "--why", "x"]].each do |arguments|
    _, err, status = cli.call(*arguments)
    equal([2, true], [status.exitstatus, err.start_with?("guildhall: ")], "#{arguments}: #{err}")
  end
  equal(78, cli.call("retry", name, "--why", "x", "GUILDHALL_COMMANDS_PRIVATE_KEY" => public_key).last.exitstatus, "the public key")
  out, _, status = guildhall("command", "keys")
  equal([0, %w[GUILDHALL_COMMANDS_KEY GUILDHALL_COMMANDS_PRIVATE_KEY]], [status.exitstatus, out.lines.map { |line| line[/\A[A-Z_]+/] }], "keys")
  done.call(:resume, {group:, topic: name, partition: 1})
  done.call(:stop, {process:})
  eventually("it stops") { Guildhall::Kafka.application.state == :stopped }
end
