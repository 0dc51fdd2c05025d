# frozen_string_literal: true

# broker: real (the embedded one holds a request for commands back until its time is over)
#
# Proves that the dashboard commands a running process: it shows the process and its partitions, pauses, retries and moves one, stops the
# process, and says what became of each; that a form does nothing once the partition has got another process; and that another page, with
# another key, has no effect.
require "tempfile"
require_relative "../support/scenario"
require "guildhall/web"
require "guildhall/kafka/commanding/keys"
require "rack/mock_request"

APPLICATION = <<~'RUBY'
  require "guildhall/kafka"
  journal = File.open(ENV.fetch("JOURNAL"), File::WRONLY | File::APPEND)
  Guildhall::Kafka.configure do |config|
    config.kafka = {"bootstrap.servers": ENV.fetch("SERVERS"), "auto.offset.reset": "earliest", "session.timeout.ms": 6_000, "heartbeat.interval.ms": 300}
    config.group_id = ENV.fetch("GROUP")
    config.pause_timeout = config.pause_max_timeout = 300.0
    config.commands = {public_key: ENV.fetch("PUBLIC"), topic: ENV.fetch("COMMANDS"), allow: %i[pause resume retry seek stop]}
    config.reports = {topic: ENV.fetch("REPORTS")}
    config.logger = nil
  end
  consumer = Class.new(Guildhall::Kafka::Consumer) do
    define_method(:consume) do
      messages.each_marking do |message|
        raise KeyError, "no" if message.raw_payload == "bad"

        journal.syswrite("consumed #{message.offset} #{Process.pid}\n")
      end
    end
  end
  Guildhall::Kafka.routes { topic(ENV.fetch("TOPIC")) { consumer(consumer) } }
RUBY

Scenario.run do
  private_key, public_key = Guildhall::Kafka::Commanding::Keys.generate
  name = topic
  own = "commands-#{group}"
  reports = "reports-#{group}"
  application = Tempfile.create(["application", ".rb"]).tap { |file| file.write(APPLICATION) && file.close }
  journal = Tempfile.create("journal").tap(&:close)
  environment = {"JOURNAL" => journal.path, "SERVERS" => servers, "GROUP" => group, "TOPIC" => name, "COMMANDS" => own, "PUBLIC" => public_key,
                 "REPORTS" => reports}
  configure(commands: {public_key:, topic: own}, reports: {topic: reports})
  routes { topic(name) { consumer(Class.new(Guildhall::Kafka::Consumer) { def consume = nil }) } }
  asked = []
  authorize = lambda do |_request, action, target|
    asked << [action, target]
    "ada"
  end
  web = Guildhall::Web.new(authorize:, commands: {private_key:, topic: own})
  get = ->(path, by: web) { Rack::MockRequest.new(by).get(path) }
  data = ->(path) { JSON.parse(get.call("#{path}?format=json").body) }
  token = ->(path, by: web) { get.call(path, by:).body[/name="token" value="([^"]+)"/, 1] || flunk("no form: #{get.call(path, by:).body}") }
  post = lambda do |path, form = token.call(path), by: web|
    Rack::MockRequest.new(by).post(path, {params: {token: form, why: "to see"}, "HTTP_HOST" => "example.org", "HTTP_SEC_FETCH_SITE" => "same-origin"})
  end
  note = lambda do |path|
    response = post.call(path)
    equal(303, response.status, "#{path}: #{response.body[/Nothing was done[^<]*/]}")
    get.call(response["location"]).body[/role="status">([^<]*)/, 1]
  end
  living = []
  serve = lambda do
    pid = spawn(environment, RbConfig.ruby, Scenario::COMMAND, "server", "-r", application.path, %i[out err] => File::NULL)
    living << pid
    pid
  end
  ended = lambda do |pid, signal = nil|
    Process.kill(signal, pid) if signal
    _, status = Process.wait2(pid)
    living.delete(pid)
    status
  end
  consumed = -> { File.readlines(journal.path).map { |line| line.split[1].to_i } }
  page = "/groups/#{group}/#{name}/0"
  state = -> { (data.call(page)["row"] || {})["state"] }
  command = ->(action) { "/commands/#{action}/#{group}/#{name}/0" }

  produce(name, %w[good bad good].map { |payload| {payload:, partition: 0} })
  pid = serve.call
  eventually("the page knows that it backs off") { state.call == "backoff" }
  equal([0], consumed.call, "before")
  body = get.call(page).body
  check(%w[pause resume retry seek].all? { |action| body.include?(%(href="#{command.call(action)}")) }, "buttons")
  check(note.call(command.call("pause")).start_with?("#{name}/0: paused until"), "pause")
  check(asked.include?([:pause, group]), "authorize is asked")
  check(note.call(command.call("retry")).include?("1 partition backed off"), "retry")
  eventually("the page says that it is paused") { state.call == "paused" }
  equal(1, data.call(page)["row"]["position"], "position")
  check(note.call("#{command.call("seek")}?to=2").include?("from 1 to 2: 1 offset will not be consumed"), "seek")
  equal("#{name}/0: resumed", note.call(command.call("resume")), "resume")
  eventually("it goes on behind the bad one") { consumed.call == [0, 2] }
  rows = data.call("/commands")["rows"]
  equal([%w[resume ada], %w[seek ada], %w[retry ada], %w[pause ada]], rows.map { |row| row.values_at("action", "by") }, "who did what")
  eventually("what became of them") { data.call("/commands")["rows"].map { |row| row["outcomes"].map { |one| one["outcome"] } } == [%w[done]] * 4 }

  # A command of another page's key: no process takes it.
  other = Guildhall::Web.new(authorize:, commands: {private_key: Guildhall::Kafka::Commanding::Keys.generate.first, topic: own})
  response = post.call(command.call("pause"), token.call(command.call("pause"), by: other), by: other)
  check(get.call(response["location"], by: other).body.include?("no process has answered"), "another key")
  equal(false, state.call == "paused", "another key")

  # The partition gets another process: what the form expects is not so any more.
  form = token.call(command.call("pause"))
  process = data.call(page)["row"]["process"]
  ended.call(pid, :TERM)
  pid = serve.call
  eventually("another process has it") { row = data.call(page)["row"] and row["process"] != process }
  response = post.call(command.call("pause"), form)
  equal([409, true], [response.status, response.body.include?("has moved to this process")], response.body[/Nothing was done[^<]*/])

  process = data.call(page)["row"]["process"]
  check(note.call("/processes/#{process}/stop").start_with?("stopping"), "stop")
  equal(0, ended.call(pid).exitstatus, "it has stopped")
ensure
  web&.close
  other&.close
  living&.each { |one| Process.kill(:KILL, one) && Process.wait(one) }
end
