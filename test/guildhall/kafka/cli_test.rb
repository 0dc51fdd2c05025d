# frozen_string_literal: true

require "test_helper"
require "json"
require "tempfile"
require "guildhall/kafka"
require "guildhall/kafka/testing"

# The commands for Kafka, each in a process of its own: an application is the process's.
class KafkaCLITest < GuildhallTest
  COMMAND = File.expand_path("../../../exe/guildhall", __dir__)
  APPLICATION = <<~'RUBY'
    class Handles < Guildhall::Kafka::Consumer
      def consume; end
    end
    Guildhall::Kafka.configure do |config|
      config.kafka = {"bootstrap.servers": "127.0.0.1:1"}
      config.shutdown_timeout = 5
    end
    Guildhall::Kafka.routes do
      topic("orders") { consumer Handles }
      consumer_group("others") { pattern(/\Ax-/) { consumer Handles } }
    end
  RUBY

  def test_routes_are_printed
    out, _, status = guildhall("routes")
    assert_equal 0, status
    assert_match(%r{^guildhall +orders +Handles +decoded by: nobody .*\nothers +/\\Ax-/ +Handles +decoded by: nobody}, out)
  end

  def test_routes_as_json
    out, = guildhall("routes", "--json")
    assert_equal [["guildhall", "orders", false, "Handles"], ["others", "/\\Ax-/", true, "Handles"]],
      out.lines.map { |line| ::JSON.parse(line).values_at("group", "topic", "pattern", "consumer") }
  end

  def test_rights_are_printed_as_commands
    out, err, status = guildhall("routes", "--acls", "--principal", "User:o'brian,CN=shop")
    assert_equal ["", 0], [err, status]
    assert_includes out, "\nkafka-acls.sh --bootstrap-server 127.0.0.1:1 --command-config admin.properties --add --allow-principal " \
                         "'User:o'\\''brian,CN=shop' --operation READ --topic x- --resource-pattern-type prefixed\n"
    assert out.lines(chomp: true).all? { |line| line.empty? || line.start_with?("#", "kafka-acls.sh ") }
  end

  def test_rights_as_json
    out, = guildhall("routes", "--acls", "--json", "--principal", "User:shop")
    assert_equal [["User:shop", "topic", "orders", "literal", ["READ"], "run"], ["User:shop", "topic", "x-", "prefixed", ["READ"], "run"],
                  ["User:shop", "group", "guildhall", "literal", ["READ"], "run"], ["User:shop", "group", "others", "literal", ["READ"], "run"]],
      out.lines.map { |line| ::JSON.parse(line).values_at("principal", "resource", "name", "pattern", "operations", "needed") }
  end

  def test_rights_need_somebody_to_have_them
    {%w[--acls] => /Name the principal, as --principal User:shop/, %w[--acls --principal shop] => /takes TYPE:NAME, as User:shop, not "shop"/,
     %w[--principal User:shop] => /--principal is for --acls only/}.each do |options, message|
      out, err, status = guildhall("routes", *options)
      assert_equal ["", 2], [out, status]
      assert_match message, err
    end
  end

  def test_wrong_routes_are_errors
    out, err, status = guildhall("routes", application: "#{APPLICATION}\nGuildhall::Kafka.config.concurency = 3")
    assert_equal ["", 78], [out, status]
    assert_includes err, "unknown setting concurency; did you mean concurrency?"
  end

  # A supervisor need not start it again.
  def test_a_wrong_configuration_has_a_status_of_its_own
    wrong = "#{APPLICATION}\nGuildhall::Kafka.config.concurency = 3"
    %w[server swarm lag].each { |command| assert_equal [command, 78], [command, guildhall(command, application: wrong).last] }
    assert_equal 2, guildhall("server", "--topics", "order").last
  end

  def test_with_a_log_of_json_the_last_line_is_json_too
    {"#{APPLICATION}\nGuildhall::Kafka.config.concurency = 3" => [78, /\Aguildhall: 1 error .*unknown setting concurency/m],
     "raise KeyError, 'of the file'" => [1, /of the file \(KeyError\)/], "def broken(" => [1, /SyntaxError/]}.each do |application, (expected, message)|
      [%w[--log-format json], %w[--log-format=json]].each do |arguments|
        out, err, status = guildhall("server", *arguments, application:)
        assert_equal ["", expected], [out, status], err
        assert_equal %w[FATAL], err.lines.map { |line| ::JSON.parse(line)["level"] }
        assert_match message, ::JSON.parse(err)["message"]
      end
    end
    _, err, status = guildhall("server", "--log-format", "json", "--topic", "a", application: APPLICATION)
    assert_equal [2, ["FATAL"]], [status, err.lines.map { |line| ::JSON.parse(line)["level"] }]
  end

  # One line instead of a backtrace: the rest of the file cannot be read.
  def test_a_setting_that_is_read_and_does_not_exist
    out, err, status = guildhall("routes", application: "#{APPLICATION}\nGuildhall::Kafka.config.concurency")
    assert_equal ["", 78], [out, status]
    assert_match(/\Aguildhall: unknown setting concurency; did you mean concurrency\? \(.+\.rb:\d+\)\n\z/, err)
  end

  def test_what_is_allowed_and_will_not_do_is_a_warning
    application = "#{APPLICATION}\nGuildhall::Kafka.application.advise { [\"too few connections\"] }"
    out, err, status = guildhall("routes", application:)
    assert_equal ["guildhall: warning: too few connections\n", 0], [err, status]
    assert_match(/^guildhall +orders/, out)
  end

  PIPELINES = <<~'RUBY'
    require "guildhall/kafka"
    require "guildhall/json"
    class Handles < Guildhall::Kafka::Consumer
      def consume; end
    end
    Guildhall::Kafka.config.kafka = {"bootstrap.servers": "127.0.0.1:1"}
    RATES = {"EUR" => 1.1}
    module Convert # a block in a route keeps its self on Ruby 3.4
      def self.call(order) = RATES[order["currency"]]
    end
    PARALLEL = ENV.key?("PARALLEL")
    Guildhall::Kafka.routes do
      topic("documents") { consumer Handles; deserializer Guildhall::JSON.lazy }
      topic("prices") do
        consumer Handles
        deserializer Guildhall::JSON >> Convert
        deserializing parallel: true if PARALLEL
      end
      topic("bytes") { consumer Handles }
      delay_topics 5, prefix: "later"
    end
  RUBY

  def test_routes_say_who_decodes_and_why_not_workers
    out, _, status = guildhall("routes", application: PIPELINES)
    assert_equal 0, status
    assert_match(/ documents +Handles +decoded by: reader \(C\)$/, out)
    assert_match(/ prices +Handles +decoded by: .*consumer thread \(RATES \(\S+:\d+\) is a Hash that is not shareable; make it so: .*\)$/, out)
    assert_match(/ bytes +Handles +decoded by: nobody \(no deserializer: payloads are Strings\)$/, out)
    assert_match(/ later\S* +Guildhall::Kafka::/, out)
    refute_match(/ later.*decoded by/, out)
    rows = guildhall("routes", "--json", application: PIPELINES).first.lines.to_h { |line| ::JSON.parse(line).values_at("topic", "decoded_by", "not_on_workers").then { |name, *rest| [name, rest] } }
    assert_equal [["in_reader", nil], ["none", nil]], rows.values_at("documents", "bytes")
    assert_match(/\ARATES \(\S+:\d+\) is a Hash/, rows["prices"].last)
  end

  # And all of it together.
  def test_routes_refuse_what_the_server_refuses
    parallel = "ENV['PARALLEL'] = '1'\n#{PIPELINES}"
    {parallel => /topic "prices": deserializing parallel: true, but workers cannot run the deserializer: .*RATES/}.each do |application, text|
      %w[routes server].each do |command|
        out, err, status = guildhall(command, application:)
        assert_equal ["", 78], [out, status], command
        assert_match text, err, command
      end
    end
  end

  def test_the_server_warns_once_that_a_pipeline_does_not_run_on_workers
    stops = "#{PIPELINES}\nGuildhall::Kafka.instrumentation.subscribe('app.running') { Process.kill(:TERM, Process.pid) }"
    out, = guildhall("server", application: "#{stops}\nGuildhall::Kafka.config.shutdown_timeout = 5")
    warnings = out.lines.grep(/WARN  topic/)
    assert_equal 1, warnings.size, out
    assert_match(/topic prices: workers cannot run its pipeline, the consumer's thread runs the pipeline instead: RATES \(\S+:\d+\) is a Hash that is not shareable/, warnings.first)
  end

  def test_names_that_are_not_routed_are_wrong_usage
    [%w[server --topics order], %w[server --groups other], %w[lag --groups other]].each do |arguments|
      _, err, status = guildhall(*arguments)
      assert_equal 2, status, err
      assert_match(/not routed: .*did you mean (orders|others)\?/, err)
    end
  end

  def test_lag_says_who_has_not_answered
    out, err, status = guildhall("lag")
    assert_equal ["", 1], [out, status]
    assert_match(/\Aguildhall: Kafka at 127.0.0.1:1 does not answer \(.*\): broker 127.0.0.1:1: .* refused; check that a broker listens at bootstrap.servers, and the network between\n\z/,
      err)
  end

  def test_what_the_application_prints_is_not_the_commands
    noisy = "puts 'one'; STDOUT.puts 'two'; system('echo three')\n#{APPLICATION}\nGuildhall::Kafka.config.logger = Logger.new(STDOUT).tap { it.info('four') }"
    out, err, status = guildhall("routes", "--json", application: noisy)
    assert_equal [%w[orders /\\Ax-/], 0], [out.lines.map { |line| ::JSON.parse(line)["topic"] }, status]
    assert_match(/\Aone\ntwo\nthree\n.*four\n\z/, err)
    out, err, = guildhall("schedule", "run", "report", "--here", application: "puts 'one'\n#{TASKS}")
    assert_match(/\Aone\nreport\n/, out, err)
  end

  def test_an_application_that_consumes_while_it_is_loaded
    %w[run start swarm].each do |name|
      [%w[lag], %w[server]].each do |command|
        out, err, status = guildhall(*command, application: "#{APPLICATION}\nGuildhall::Kafka.#{name}")
        assert_equal ["", 2], [out, status]
        assert_match(%r{\Aguildhall: /.*\.rb: Guildhall::Kafka.#{name} is called while a command loads the application: leave it to `guildhall server`, or add `if .PROGRAM_NAME == __FILE__` to its line\n\z}, err)
      end
    end
    assert_equal 0, guildhall("routes", application: "#{APPLICATION}\nGuildhall::Kafka.run if $PROGRAM_NAME == __FILE__").last
  end

  # With --check, 1 and 4 mean something else.
  def test_an_application_that_ends_the_process
    %w[exit exit(0)].each do |text|
      _, err, status = guildhall("topics", "plan", "--check", application: text)
      assert_equal [2, true], [status, err.include?("ends the process while it is loaded")]
    end
  end

  def test_topics_without_a_consumer_belong_to_no_group
    out, = guildhall("routes", application: APPLICATION.sub('topic("orders")', "topic(\"prices\") { config partitions: 3 }\n  topic(\"orders\")"))
    assert_match(/^- +prices +\(declared\) +config: partitions 3$/, out)
  end

  def test_parked_keys_are_those_of_topics_that_are_ordered_by_key
    out, _, status = guildhall("keys")
    assert_equal ["GROUP  TOPIC  PARTITION  KEY  OFFSET  MESSAGES  SECONDS\n", 0], [out, status], "without such a topic no broker is asked"
    _, err, status = guildhall("keys", application: APPLICATION.sub("consumer Handles }", "consumer Handles; ordering :key }"))
    assert_equal 1, status
    assert_match(/does not answer/, err)
  end

  def test_parked_keys_may_be_any_bytes
    Guildhall::Kafka::Testing::EmbeddedBroker.start do |broker|
      pass_over(broker, ["a", "\xFFb\n".b, "a", nil, "c"], done: [4...5])
      application = APPLICATION.sub("127.0.0.1:1", broker.bootstrap_servers).sub("consumer Handles }", "consumer Handles; ordering :key }")
      out, err, = guildhall("keys", application:)
      assert_equal [%w[a 0 2], ["\u{FFFD}b\\u{A}", "1", "1"], %w[- 3 1]],
        out.lines.drop(1).map { |line| line.split.values_at(3, 4, 5) }, err
      out, err, = guildhall("keys", "--json", application:)
      assert_equal [["a", nil], [nil, "/2IK"], [nil, nil]], out.lines.map { |line| ::JSON.parse(line).values_at("key", "key_base64") }, err
    end
  end

  def test_options_that_cannot_work_are_refused_before_a_broker_is_asked
    {%w[server -c 0] => "--concurrency must be 1 or more, not 0", %w[swarm -c -1] => "--concurrency must be 1 or more, not -1",
     %w[dlq list --limit -5] => "--limit must be 0 or more, not -5",
     %w[dlq replay --all --offsets x] => "--offsets takes 7, 7..12, 7.. or ..12"}.each do |arguments, problem|
      out, err, status = guildhall(*arguments)
      assert_equal ["", 2, true], [out, status, err.start_with?("guildhall: #{problem}")], err
    end
  end

  TASKS = "#{APPLICATION}\nGuildhall::Kafka.routes { schedule { task(\"report\", \"0 3 * * *\") { puts \"report\" } } }\n".freeze

  def test_schedule_run_says_that_the_task_has_run
    out, err, status = guildhall("schedule", "run", "report", "--here", application: TASKS)
    assert_equal ["", 0], [err, status]
    assert_match(/\Areport\nreport has run in \d+\.\d s\n\z/, out)
  end

  def test_before_the_first_run_there_are_no_topics
    Guildhall::Kafka::Testing::EmbeddedBroker.start do |broker|
      application = TASKS.sub("127.0.0.1:1", broker.bootstrap_servers)
      out, err, status = guildhall("schedule", "list", application:)
      assert_equal ["", 0], [err, status]
      assert_match(/^report +0 3 \* \* \* +run_once +yes +- +new +\d{4}-/, out)
      out, err, status = guildhall("lag", application:)
      assert_equal ["GROUP  TOPIC  PARTITION  COMMITTED  END  MESSAGES  SECONDS\n", 0], [out, status], err
      assert_equal ["guildhall: there is no topic orders\n", "guildhall: there is no topic guildhall.schedule\n"], err.lines
    end
  end

  def test_schedule_disable_says_who_has_not_answered
    _, err, status = guildhall("schedule", "disable", "report", application: TASKS)
    assert_equal 1, status
    assert_match(/^guildhall: Kafka at 127.0.0.1:1 does not answer/, err)
    assert_operator err.lines.size, :<=, 3, err
  end

  def test_wrong_usage_of_schedule
    {%w[lst] => "no command schedule lst; did you mean list?", %w[] => "which command? One of list, run, enable, disable",
     %w[run] => "schedule run needs the name of a task", %w[run report --json] => "--json is for schedule list only", %w[enable report --here] => "--here is for schedule run only",
     %w[list report] => "unexpected argument: report", %w[run reprt] => "there is no task \"reprt\"; did you mean report?"}.each do |arguments, problem|
      out, err, status = guildhall("schedule", *arguments, application: TASKS)
      assert_equal ["", 2, true], [out, status, err.start_with?("guildhall: #{problem}")], err
    end
  end

  private

  # Messages that the group has not done, before some that it has.
  def pass_over(broker, keys, done:)
    broker.create_topic("orders", partitions: 1)
    producer = Rdkafka::Config.new("bootstrap.servers": broker.bootstrap_servers).producer
    keys.each { |key| producer.produce(topic: "orders", partition: 0, key:, payload: "x").wait }
    producer.close
    consumer = Rdkafka::Config.new("bootstrap.servers": broker.bootstrap_servers, "group.id": "guildhall").consumer
    metadata = Guildhall::Kafka::Partition::DoneRanges.dump(0, done)
    list = Rdkafka::Consumer::TopicPartitionList.new("orders" => [Rdkafka::Consumer::Partition.new(0, 0, 0, metadata)])
    Guildhall::Kafka::Group::Client.ask_coordinator { consumer.commit(list) }
    consumer.close
  end

  def guildhall(command, *options, application: APPLICATION)
    Tempfile.create(["application", ".rb"]) do |file|
      file.write(application)
      file.close
      out, err, status = run_forked(%w[guildhall/cli guildhall/kafka], COMMAND, command, *options, "-r", file.path)
      [out, err, status.exitstatus]
    end
  end
end
