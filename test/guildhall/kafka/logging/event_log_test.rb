# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"
require "json"
require "stringio"

class KafkaLoggingEventLogTest < GuildhallTest
  def setup
    @out = StringIO.new
  end

  def test_an_error_names_the_place_the_attempt_the_class_and_the_applications_own_frame
    publish("error.occurred", error: raised, type: "consumer.consume", topic: "orders", partition: 3, offset: 17, attempt: 2)
    assert_match(%r{\A\S+Z ERROR consumer.consume failed at orders/3 offset=17 attempt=2: RuntimeError: boom \(.*event_log_test.rb:\d+:in .*raised}, lines.first)
  end

  def test_lines_for_people
    publish("app.running", version: "1.2", groups: ["g"], topics: ["orders", "/x/"])
    publish("rebalance.partitions_assigned", group: "g", partitions: [["orders", 0], ["orders", 1]])
    publish("rebalance.partitions_revoked", group: "g", partitions: [["orders", 0]], lost: true)
    publish("consumer.retrying", topic: "orders", partition: 0, offset: 5, attempt: 1, seconds: 1.234)
    publish("dead_letter_queue.dispatched", topic: "orders", partition: 0, offset: 5, to: "orders.dead", error_class: "IOError")
    publish("app.stopped", unfinished: ["orders/1"])
    publish("partition.paused", topic: "orders", partition: 0, seconds: 3)
    assert_equal ["INFO  Guildhall 1.2 consumes orders, /x/ as group g; Ruby #{RUBY_VERSION}",
                  "INFO  group g: assigned orders/0-1", "INFO  group g: lost orders/0",
                  "WARN  retrying orders/0 from offset 5 in 1.2 s, after attempt 1",
                  "WARN  dead letter: orders/0 offset 5 went to orders.dead because of IOError",
                  "INFO  stopped; not finished: orders/1", "INFO  partition.paused topic=orders partition=0 seconds=3"],
      lines.map { |line| line.split(" ", 2).last.chomp }
  end

  def test_what_is_not_known_is_left_out
    publish("error.occurred", error: RuntimeError.new("boom"), type: "consumer.consume", topic: "orders", partition: 0, offset: nil, attempt: 1)
    publish("consumer.retrying", topic: "orders", partition: 0, offset: 0, attempt: 0, seconds: 1)
    assert_equal ["ERROR consumer.consume failed at orders/0 attempt=1: RuntimeError: boom", "WARN  retrying orders/0 from offset 0 in 1 s"],
      lines.map { |line| line.split(" ", 2).last.chomp }
  end

  def test_batches_and_figures_are_for_debugging
    %w[consumer.consumed consumer.skipped lag.measured statistics.emitted].each { |name| publish(name, topic: "t", partition: 3) }
    assert_empty lines
    publish("consumer.consumed", level: "debug", topic: "t", partition: 3)
    assert_match(/DEBUG consumer.consumed topic=t partition=3/, lines.first)
  end

  def test_what_comes_from_payloads_makes_no_lines_of_its_own
    publish("error.occurred", error: RuntimeError.new("bad\n2026 ERROR forged \e[31m"), type: "consumer.consume")
    publish("error.occurred", error: RuntimeError.new("\xFF".b), type: "consumer.consume")
    assert_equal 2, lines.size
    assert_includes lines.first, 'bad\u{A}2026 ERROR forged \u{1B}[31m'
  end

  PAYLOAD = {"email" => "ada@example.com"}.freeze

  # In the line for people, and in that for machines; with the event's own `message:`, and where an event has none.
  def test_a_message_that_may_quote_a_payload_is_not_shown
    error = assert_raises(FrozenError) { PAYLOAD["a"] = 1 }
    shown = "can't modify frozen Hash; payloads are frozen: use payload.to_h.dup"
    %w[text json].each { |format| publish("error.occurred", format:, error:, type: "consumer.consume", topic: "orders", partition: 3) }
    publish("error.occurred", error:, message: "in full", type: "consumer.consume")
    refute_includes @out.string, "ada"
    assert_match(%r{ERROR consumer.consume failed at orders/3: FrozenError: #{Regexp.escape(shown)} \(.*event_log_test.rb:\d+}, lines.first)
    json = ::JSON.parse(lines[1])
    assert_equal({"class" => "FrozenError", "message" => shown}, json["error"].slice("class", "message"))
    assert_includes json["message"], "FrozenError: #{shown}"
    assert_includes lines[2], "FrozenError: in full ("
  end

  # As it comes from an application with its setting.
  def test_messages_are_shown_where_the_setting_says_so
    {{} => "key not found (", {messages: false} => "key not found (", {messages: true} => "key not found: \"ada\" ("}.each do |setting, shown|
      @out.truncate(0)
      application = Guildhall::Kafka::Application.new
      application.config.error_reports = setting
      log = Guildhall::Kafka::Logging::EventLog.new(Guildhall::Kafka::Logging.logger(@out))
      application.instrumentation.subscribe("error.occurred") { |event| log.call(event) }
      begin
        PAYLOAD.fetch("ada")
      rescue KeyError => error
        application.error(error, "consumer.consume")
      end
      assert_includes @out.string, "KeyError: #{shown}"
    end
  end

  def test_a_line_of_an_error_has_an_end
    publish("error.occurred", error: RuntimeError.new("x" * 10_000), type: "consumer.consume")
    assert_operator lines.first.size, :<, 500
  end

  def test_the_setting_takes_a_hash
    [3, {message: true}, {messages: 1}].each do |wrong|
      config = Guildhall::Kafka::Config.new
      config.error_reports = wrong
      errors = Guildhall::Kafka::Config::Problems.new
      config.validate(errors)
      assert_match(/\Aerror_reports (must be a Hash: \{messages: true, attempts: true\}|unknown setting message; did you mean|.*messages must be true or false)/, errors.to_a.grep(/error_reports/).first)
    end
  end

  def test_json_has_a_line_of_json_for_each
    publish("error.occurred", format: "json", error: raised, type: "consumer.consume", topic: "orders", partition: 3, offset: 17, attempt: 2)
    publish("rebalance.partitions_assigned", format: "json", group: "\xFFg", partitions: [["orders", 0]])
    error, assigned = lines.map { |line| ::JSON.parse(line) }
    assert_equal ["ERROR", "error.occurred", "orders", 3, 17, 2], error.values_at("level", "event", "topic", "partition", "offset", "attempt")
    assert_equal %w[RuntimeError boom], error["error"].values_at("class", "message")
    assert_match(/event_log_test.rb:\d+/, error["error"]["frame"])
    assert_equal [["orders", 0]], assigned["partitions"]
  end

  def test_only_what_would_be_printed_is_subscribed_to
    names = %w[error info debug].map { |level| Guildhall::Kafka::Logging::EventLog.new(Guildhall::Kafka::Logging.logger(@out, level:)).names }
    assert_equal ["broker.unreachable", "error.occurred", "oauth_token.unavailable", "schema_registry.unreachable"], names.first.sort
    assert_includes names[1], "app.running"
    refute_includes names[1], "consumer.consumed"
    assert_equal Guildhall::Kafka::Events::NAMES, names.last
  end

  def test_members
    publish("rebalance.partitions_assigned", group: "g", member: 2, partitions: [["orders", 0]])
    publish("members.changed", group: "g", members: 3, change: 1, seconds: 12.3)
    publish("members.changed", group: "g", members: 1, change: -1, seconds: 0.0)
    assert_includes lines[0], "INFO  group g, member 2: assigned orders/0"
    assert_includes lines[1], "INFO  group g: 12 s behind, so that this process has 3 members now"
    assert_includes lines[2], "INFO  group g: caught up, so that this process has 1 member now"
  end

  def test_where_a_group_begins
    publish("offsets.none", group: "g", topic: "orders", partitions: [0, 1, 2, 5], place: :latest, messages: 3_000)
    publish("offsets.none", group: "g", topic: "orders", partitions: [4], place: :earliest, messages: 1)
    publish("offsets.none", group: "g", topic: "orders", partitions: [4], place: :latest, messages: 1, may_seek: true)
    publish("offsets.none", group: "g", topic: "orders", partitions: [4], place: :latest, messages: 0)
    publish("offsets.reset", group: "g", topic: "orders", partitions: {0 => [100, 150], 3 => [9, 4]})
    publish("offsets.reset", group: "g", topic: "orders", partitions: (0..9).to_h { |number| [number, [0, 5]] })
    assert_equal ["WARN  group g: nothing is committed for orders, partitions 0-2, 5: begins at the end, and skips 3000 messages (auto.offset.reset latest)",
                  "INFO  group g: nothing is committed for orders/4: begins at the beginning, with 1 message (auto.offset.reset earliest)",
                  "WARN  group g: nothing is committed for orders/4: begins at the end, and skips 1 message (auto.offset.reset latest), unless " \
                  "its consumer's `initialized` seeks",
                  "INFO  group g: nothing is committed for orders/4: begins at the end, and skips 0 messages (auto.offset.reset latest)",
                  "WARN  group g: the next offset does not exist any more (deleted by the topic's retention, the topic is a new one, or an offset beyond its end was committed): " \
                  "orders/0 reads on at 150 instead of 100: 50 offsets are skipped; orders/3 reads on at 4 instead of 9: 5 offsets are repeated"],
      lines.first(5).map { |line| line.chomp.split(" ", 2).last }
    assert_match(%r{orders/4 reads on at 5 instead of 0: 5 offsets are skipped; and 5 more partitions$}, lines[5])
  end

  def test_a_swarm
    publish("swarm.running", version: "1.2", processes: 2, pid: 5, threads: ["puma"])
    publish("swarm.process_stopping", number: 1, pid: 6, reason: "it is not alive: orders/0 is stalled")
    publish("swarm.process_ended", number: 1, pid: 6, status: "SIGKILL (signal 9)")
    publish("swarm.process_restarting", number: 1, seconds: 1.23)
    assert_equal ["INFO  Guildhall 1.2: swarm of 2 processes, parent 5; Ruby #{RUBY_VERSION}; these threads of the application end with the fork: puma",
                  "WARN  process 1 (pid 6) is replaced: it is not alive: orders/0 is stalled",
                  "INFO  process 1 (pid 6) has ended: SIGKILL (signal 9)", "WARN  process 1 is started again in 1.2 s"],
      lines.map { |line| line.chomp.split(" ", 2).last }
  end

  def test_a_broker_that_cannot_be_reached
    outage = {broker: "b:9092", reason: "Connection refused", advice: "check that a broker listens there", seconds: 0.0, reminder: false}
    publish("broker.unreachable", **outage)
    publish("broker.unreachable", **outage, reason: "Disconnected", seconds: 0.2, reminder: true)
    publish("broker.unreachable", **outage, seconds: 10.2, reminder: true, advice: nil)
    publish("broker.reachable", broker: "b:9092", seconds: 12.3)
    assert_equal ["ERROR Kafka broker b:9092 cannot be reached: Connection refused; check that a broker listens there",
                  "ERROR Kafka broker b:9092 cannot be reached: Disconnected; check that a broker listens there",
                  "ERROR Kafka broker b:9092 cannot be reached for 10 s now: Connection refused",
                  "WARN  Kafka broker b:9092 answers again, after 12 s"], lines.map { |line| line.chomp.split(" ", 2).last }
    publish("broker.unreachable", format: "json", **outage)
    assert_equal({"event" => "broker.unreachable", **outage.transform_keys(&:to_s)}, ::JSON.parse(lines.last).except("time", "level", "message"))
  end

  def test_a_schema_registry_that_cannot_be_asked
    outage = {registry: "http://r:8081/x", seconds: 0.0, reminder: false,
              reason: "answers /schemas/ids/1 with 401 Unauthorized; check user: and password:, or token:"}
    publish("schema_registry.unreachable", **outage)
    publish("schema_registry.unreachable", **outage, seconds: 10.2, reminder: true)
    publish("schema_registry.reachable", registry: "http://r:8081/x", seconds: 12.3)
    wait = "messages that need a schema wait: answers /schemas/ids/1 with 401 Unauthorized; check user: and password:, or token:"
    assert_equal ["ERROR schema registry http://r:8081/x cannot be asked, #{wait}",
                  "ERROR schema registry http://r:8081/x cannot be asked for 10 s now, #{wait}",
                  "WARN  schema registry http://r:8081/x answers again, after 12 s"], lines.map { |line| line.chomp.split(" ", 2).last }
  end

  def test_tokens_that_do_not_come
    outage = {servers: "b:9092", reason: "config.oauth_token has raised IOError (app.rb:7): down", error: raised, seconds: 0.0, left: 41.2, reminder: false}
    publish("oauth_token.unavailable", **outage)
    publish("oauth_token.unavailable", **outage, seconds: 60.2, left: 0, reminder: true)
    publish("oauth_token.available", servers: "b:9092", seconds: 70.3)
    why = "config.oauth_token has raised IOError (app.rb:7): down"
    assert_equal ["ERROR no token for Kafka at b:9092, the token in use is valid for 42 s more: #{why}",
                  "ERROR no token for Kafka at b:9092 for 1m00s now, clients cannot log in: #{why}",
                  "WARN  tokens for Kafka at b:9092 come again, after 1m10s"], lines.map { |line| line.chomp.split(" ", 2).last }
  end

  def test_signals_that_are_ignored
    publish("signals.ignored", signals: %w[INT QUIT])
    assert_includes lines.first, "WARN  SIGINT, SIGQUIT will not stop this process: its parent has left them ignored"
  end

  def test_full_collections
    publish("garbage_collection.switched", state: :deferred, left: nil, limit: 800 << 20)
    publish("garbage_collection.switched", state: :left_to_ruby, left: 99 << 20, limit: 800 << 20)
    publish("garbage_collection.run", level: "debug", reason: :idle, seconds: 0.12, put_off: 3)
    assert_equal ["INFO  full garbage collections are put off",
                  "INFO  full garbage collections are left to Ruby; 99 of 800 MB of memory are left",
                  "DEBUG full garbage collection while no consumer was at work: 0.1 s"], lines.map { |line| line.chomp.split(" ", 2).last }
  end

  def test_every_event_has_a_line
    Guildhall::Kafka::Events::NAMES.each { |name| assert_kind_of String, name }
    fields = {version: "1", groups: [], topics: [], timeout: 1, unfinished: [], group: "g", partitions: [], lost: false,
              topic: "t", partition: 0, offset: 1, attempt: 1, seconds: 1, to: "d", error_class: "E", chosen: "t", others: [],
              error: raised, type: "x", members: 2, change: 1, number: 1, pid: 5, status: "exit 0",
              reason: "r", place: :latest, messages: 3, message: "m", broker: "b:1", registry: "http://r:1", advice: nil, reminder: false, servers: "b:1", left: 5, signals: ["INT"], processes: 2,
              threads: [], consumer: "C", site: "c.rb:1", consumers: 2, task: "t", due: Time.at(0), position: 7, by: "ada", action: :replay, target: "d", why: nil,
              outcome: "done", id: "1", args: {seconds: 1}, state: :deferred, limit: 10, put_off: 1, size: 3, open: 1, jobs: 2}
    Guildhall::Kafka::Events::NAMES.each do |name|
      publish(name, level: "debug", **fields)
    rescue ArgumentError => error
      flunk "#{name}: #{error.message}: add what its payload has to `fields` in this test"
    end
    assert_equal Guildhall::Kafka::Events::NAMES.size, lines.count { |line| line.match?(/\A\S+Z/) && !line.include?("backtrace") }
  end

  private

  def raised
    raise "boom"
  rescue RuntimeError => error
    error
  end

  def publish(name, format: "text", level: "info", **payload)
    logger = Guildhall::Kafka::Logging.logger(@out, format:, level:)
    event = Guildhall::Instrumentation::Event.new(name:, payload:, time: 0.0)
    Guildhall::Kafka::Logging::EventLog.new(logger).call(event)
  end

  def lines = @out.string.lines
end
