# frozen_string_literal: true

require "test_helper"
require "json"
require "stringio"
require "tempfile"
require "guildhall/cli"
require "guildhall/kafka"
require "guildhall/kafka/testing"
require "support/mock_faults"
require "support/refusing_broker"

# The commands during an outage: what can be answered is printed, the rest is named, and the exit status says so.
class KafkaPartialCommandsTest < GuildhallTest
  class Handles < Guildhall::Kafka::Consumer
    def consume; end
  end

  def setup
    @broker = Guildhall::Kafka::Testing::EmbeddedBroker.start
    @faults = MockFaults.new(@broker)
    %w[orders prices].each { |name| @broker.create_topic(name, partitions: 2) }
    %w[orders.dead prices.dead].each { |name| @broker.create_topic(name, partitions: 2) }
    configure({"bootstrap.servers": @broker.bootstrap_servers})
  end

  def teardown
    Guildhall::Kafka.reset
    @broker.stop
  end

  def configure(kafka)
    Guildhall::Kafka.reset
    Guildhall::Kafka.configure do |config|
      config.kafka = kafka
      config.group_id = "g"
      config.logger = nil
    end
    Guildhall::Kafka.routes do
      %w[orders prices].each do |name|
        topic(name) do
          consumer Handles
          dead_letter_queue topic: "#{name}.dead"
          ordering :key
        end
      end
    end
  end

  def produce(*messages)
    producer = Guildhall::Kafka::Producer.new({"bootstrap.servers": @broker.bootstrap_servers})
    producer.produce_many_sync(messages)
  ensure
    producer.close
  end

  # @return [Array(Array<String>, Array<String>, Integer)] lines of both outputs, and the exit status
  def guildhall(*arguments)
    out = StringIO.new
    err = StringIO.new
    Tempfile.create(["routes", ".rb"]) do |file| # the command loads an application; it is here already
      status = Guildhall::CLI.new(out:, err:).run([*arguments, "-r", file.path])
      return [out.string.lines(chomp: true), err.string.lines(chomp: true), status]
    end
  end

  def test_lag_with_a_partition_without_a_leader_and_a_topic_that_may_not_be_described
    produce({topic: "orders", partition: 0, payload: "x"})
    @faults.leader("orders", 1, -1)
    @faults.topic_error("prices", 29)
    out, err, status = guildhall("lag")
    assert_equal [%w[g orders 0]], out.drop(1).map { |line| line.split.first(3) }
    assert_equal 3, status
    assert_match(/\Aguildhall: group g, prices: TOPIC_AUTHORIZATION_FAILED: .*grant the user the right on the topic/, err[0])
    assert_match(/\Aguildhall: group g, orders partition 1: LEADER_NOT_AVAILABLE: .*bring back the brokers/, err[1])
    assert_equal 2, err.size
    out, err, status = guildhall("lag", "--json", "--topics", "orders")
    assert_equal [[0, 1]], out.map { |line| ::JSON.parse(line).values_at("partition", "messages") }
    assert_equal [1, 3], [err.size, status]
  end

  def test_keys_of_a_group_that_may_not_be_read
    @faults.refuse(MockFaults::FIND_COORDINATOR, 30)
    out, err, status = guildhall("keys")
    assert_equal [1, 3], [out.size, status]
    assert_match(/\Aguildhall: group g: GROUP_AUTHORIZATION_FAILED: the committed offsets of group g; grant the user READ/, err.first)
    assert_equal 1, err.size
  end

  def test_wrong_credentials_are_not_taken_for_the_network
    refusing = RefusingBroker.new
    configure({**refusing.settings, log_level: 0})
    [%w[lag], %w[keys], %w[dlq list]].each do |arguments|
      out, err, status = guildhall(*arguments)
      assert_equal [[], 1], [out, status]
      assert_match(/\Aguildhall: Kafka at .* refuses the credentials \(.*#{RefusingBroker::REASON}\): check sasl\.mechanism/, err.last)
    end
    %i[lag parked_keys].each { |name| assert_raises(Guildhall::Kafka::AuthenticationError) { Guildhall::Kafka.application.public_send(name) } }
    assert_raises(Guildhall::Kafka::AuthenticationError) { Guildhall::Kafka.application.dead_letters("orders.dead") { flunk } }
    assert_raises(Guildhall::Kafka::AuthenticationError) { Guildhall::Kafka.each_message("orders") { flunk } }
  ensure
    refusing&.stop
  end

  def test_dead_letters_of_what_can_be_read
    produce({topic: "orders.dead", partition: 0, payload: "a"}, {topic: "prices.dead", partition: 0, payload: "b"})
    @faults.leader("orders.dead", 1, -1)
    @faults.topic_error("prices.dead", 29)
    out, err, status = guildhall("dlq", "list")
    assert_equal ["orders.dead/0@0", "1 of 1 dead letter in orders.dead"], [out[1].split.first, out[2]]
    assert_equal [3, 2], [status, err.size]
    assert_match(/\Aguildhall: orders\.dead partition 1: LEADER_NOT_AVAILABLE/, err[0])
    assert_match(/\Aguildhall: prices\.dead: TOPIC_AUTHORIZATION_FAILED/, err[1])
    _, err, status = guildhall("dlq", "list", "--topic", "prices.dead")
    assert_equal 1, status
    assert_match(/TOPIC_AUTHORIZATION_FAILED/, err.first)
  end

  def test_dead_letters_where_it_is_not_known_what_was_replayed
    produce({topic: "orders.dead", partition: 0, payload: "a"})
    @faults.refuse(MockFaults::FIND_COORDINATOR, 30)
    out, err, status = guildhall("dlq", "list", "--topic", "orders.dead")
    assert_match(/\Aorders\.dead.* \?\z/, out[1])
    assert_match(/GROUP_AUTHORIZATION_FAILED: the committed offsets of group g\.replay/, err.first)
    assert_equal 3, status
  end

  def test_a_dead_letter_topic_that_is_not_there_yet_leaves_the_others_alone
    @broker.stop
    @broker = Guildhall::Kafka::Testing::EmbeddedBroker.start
    @broker.create_topic("prices.dead")
    configure({"bootstrap.servers": @broker.bootstrap_servers})
    out, err, status = guildhall("dlq", "list")
    assert_equal ["0 of 0 dead letters in prices.dead", ["guildhall: there is no topic orders.dead"], 0], [out.last, err, status]
  end

  # One that the routes name may be made later; who asks for it by its name gets no answer.
  def test_a_topic_that_is_named_and_is_not_there_is_no_answer
    Guildhall::Kafka.routes { topic("invoices") { consumer Handles } }
    missing = ["guildhall: there is no topic invoices"]
    [%w[lag], %w[lag --groups g]].each { |arguments| assert_equal [missing, 0], guildhall(*arguments).drop(1), arguments }
    out, err, status = guildhall("lag", "--topics", "invoices,orders")
    assert_equal [3, missing, 3], [out.size, err, status]
    Guildhall::Kafka.routes do
      topic("receipts") do
        consumer Handles
        ordering :key
      end
    end
    assert_equal [["guildhall: there is no topic receipts"], 3], guildhall("keys", "--topics", "receipts").drop(1)
    assert_equal 2, guildhall("dlq", "list", "--topic", "receipts.dead").last
  end

  def test_the_name_of_a_dead_letter_topic_is_an_option
    _, err, status = guildhall("dlq", "list", "orders.dead")
    assert_equal ["guildhall: unexpected argument: orders.dead; to name a dead letter topic: --topic orders.dead (guildhall dlq list --help)", 2], [err.first, status]
  end

  # To discard what a source topic holds would leave it out of nothing, and to say so would be wrong.
  def test_a_topic_that_no_route_has_as_its_dead_letter_topic
    produce({topic: "orders", partition: 0, payload: "a"})
    refused = [[], ["guildhall: no route has orders as its dead letter topic; there is orders.dead, prices.dead"], 2]
    [%w[list], %w[show orders/0@0], %w[replay --all], %w[discard orders/0@0], %w[discard --all --dry-run]].each do |command, *words|
      assert_equal refused, guildhall("dlq", command, *words, *(%w[--topic orders] unless words.first&.include?("@"))), command
    end
  end

  def test_without_routes_only_what_has_the_headers_of_a_dead_letter_is_discarded
    Guildhall::Kafka.reset
    Guildhall::Kafka.configure do |config|
      config.kafka = {"bootstrap.servers": @broker.bootstrap_servers}
      config.logger = nil
    end
    produce({topic: "orders", partition: 0, payload: "a"}, {topic: "orders.dead", partition: 0, payload: "b", headers: {"source_topic" => "orders"}})
    [%w[--dry-run], []].each do |words|
      out, err, status = guildhall("dlq", "discard", "--all", "--topic", "orders", *words)
      assert_equal [[], 2], [out, status]
      assert_match(%r{orders/0@0 has none of the headers of a dead letter: is orders a dead letter topic\? Then name it}, err.last)
    end
    assert_equal [["orders.dead: 1 dead letter would be discarded"], 0],
      guildhall("dlq", "discard", "--all", "--topic", "orders.dead", "--dry-run").values_at(0, 2)
  end

  # As those that Karafka has left in the same topic.
  def test_dead_letters_without_a_source_are_left_out_and_counted
    produce({topic: "orders.dead", partition: 0, payload: "a"}, {topic: "orders.dead", partition: 0, payload: "b", headers: {"source_topic" => "orders"}})
    why = "guildhall: 1 dead letter of orders.dead has no header that says which topic to replay to, and was left out: name one with --to TOPIC"
    replay = ->(*words) { guildhall("dlq", "replay", *words) }
    all = %w[--all --topic orders.dead]
    assert_equal [["orders.dead: 1 dead letter would be replayed"], [why], 0], replay.call(*all, "--dry-run")
    assert_equal [["orders.dead: 2 dead letters would be replayed to prices"], [], 0], replay.call(*all, "--dry-run", "--to", "prices")
    assert_equal [[], ["guildhall: there is no topic price; did you mean prices?"], 2], replay.call(*all, "--dry-run", "--to", "price")
    assert_equal [["orders.dead/0: 1 of 2 dead letters replayed (offsets 1 to 1), 1 left out", "orders.dead/1: nothing to replay"], [why], 0], replay.call(*all)
    assert_equal ["b"], Guildhall::Kafka.each_message("orders").map(&:raw_payload)
    assert_equal [["orders.dead/0: 0 of 1 dead letter replayed, 1 left out"], [why], 1], replay.call("orders.dead/0@0")
    assert_equal ["orders.dead/0: 1 of 1 dead letter replayed (offsets 0 to 0)"], replay.call("orders.dead/0@0", "--to", "prices").first
  end

  def test_the_rest_of_what_was_never_replayed
    produce({topic: "orders.dead", partition: 0, payload: "a"})
    assert_equal [[], ["guildhall: nothing of orders.dead was replayed yet, or so long ago that the broker has forgotten it: use --all the " \
                       "first time, and --rest from then on"], 2], guildhall("dlq", "replay", "--rest", "--topic", "orders.dead")
  end

  HEADERS = {"text" => "é", "none" => nil, "many" => ["a", nil], "bytes" => "\xFF\x00".b, "both" => ["a", "\xFF".b, nil]}.freeze

  def test_headers_of_any_bytes_and_without_a_value
    produce({topic: "orders.dead", partition: 0, payload: "a", headers: HEADERS})
    out, err, = guildhall("dlq", "list", "--json", "--topic", "orders.dead")
    found = ::JSON.parse(out.first)
    assert_equal({"text" => ["é"], "none" => [nil], "many" => ["a", nil]}, found["headers"], err)
    assert_equal({"bytes" => ["/wA="], "both" => ["YQ==", "/w==", nil]}, found["headers_base64"])
  end

  # Whoever has written it there: a letter must not hide the others, nor change the terminal.
  def test_a_dead_letter_whose_headers_are_any_bytes
    odd = "\e[2J\xFF\n\u202E".b
    names = %w[topic consumer_group error_class error_place error_message first_failed_at attempts]
    headers = {**names.to_h { |name| ["source_#{name}", "é#{name}".b + odd] }, "many#{odd}" => ["é", nil, odd]}
    produce({topic: "orders.dead", partition: 0, key: odd, payload: odd, headers:}, {topic: "orders.dead", partition: 0, payload: "b"})
    [%w[list], %w[show orders.dead/0@0]].each do |command, *letters|
      out, err, status = guildhall("dlq", command, *letters, *(%w[--topic orders.dead] if letters.empty?))
      assert_equal [0, []], [status, err]
      assert out.all?(/\A[\p{L}\p{M}\p{N}\p{P}\p{S} ]*\z/), out
      assert_match(/éerror_class\\u\{1B\}\[2J\uFFFD\\u\{A\}/, out.join)
      out, _, status = guildhall("dlq", command, *letters, "--json", *(%w[--topic orders.dead] if letters.empty?))
      assert_equal [0, "éerror_class\e[2J\uFFFD\n\u202E"], [status, ::JSON.parse(out.first)["error_class"]]
    end
  end

  def test_a_replay_that_may_not_be_noted_replays_nothing
    produce({topic: "orders.dead", partition: 1, payload: "a"})
    @faults.refuse(MockFaults::TRANSACTION_OFFSET_COMMIT, 30)
    out, err, status = guildhall("dlq", "replay", "--all", "--topic", "orders.dead", "--to", "prices")
    assert_equal [["orders.dead/0: nothing to replay", "orders.dead/1: 0 of 1 dead letter replayed"], 1], [out, status]
    assert_match(%r{GROUP_AUTHORIZATION_FAILED: offset 1 of orders\.dead/1 could not be committed for group g\.replay; grant the user READ}, err.last)
    assert_equal [[], 1], guildhall("dlq", "discard", "orders.dead/1@0").values_at(0, 2)
  end

  def test_a_group_that_keeps_marks_must_have_no_members
    produce({topic: "orders.dead", partition: 0, payload: "a"})
    @faults.refuse(MockFaults::TRANSACTION_OFFSET_COMMIT, 25)
    _, err, status = guildhall("dlq", "discard", "orders.dead/0@0")
    assert_equal [1, "guildhall: UNKNOWN_MEMBER_ID: offset 1 of orders.dead/0 could not be committed for group g.replay; group g.replay has " \
                     "members: end them, for it keeps the marks of dead letters alone"], [status, err.last]
  end

  # Asking for the right changes nothing.
  def test_what_was_replayed_stays_noted_where_a_replay_is_refused
    2.times { |n| produce({topic: "orders.dead", partition: 0, payload: n.to_s}) }
    assert_equal 0, guildhall("dlq", "replay", "--all", "--topic", "orders.dead", "--to", "prices").last
    @faults.refuse(MockFaults::PRODUCE, 29)
    out, err, status = guildhall("dlq", "replay", "--all", "--topic", "orders.dead", "--to", "prices")
    assert_equal [["orders.dead/0: 0 of 2 dead letters replayed"], 1], [out, status]
    assert_match(%r{orders\.dead/0@0 was not replayed to topic prices: .*topic_authorization_failed.*; grant WRITE and DESCRIBE on topic prices\z}i, err.last)
    @faults.accept(MockFaults::PRODUCE)
    marks = Guildhall::Kafka.application.dead_letters("orders.dead") { |dead_letters| dead_letters.marks([0, 1]) }
    assert_equal [[2, true], [0, false]], marks.values.map { |one| [one.position, one.known?] }
  end

  def test_headers_are_replayed_as_they_were
    produce({topic: "orders.dead", partition: 0, payload: "a", headers: HEADERS})
    out, err, status = guildhall("dlq", "replay", "--all", "--topic", "orders.dead", "--to", "prices")
    assert_equal 0, status, [out, err]
    message = Guildhall::Kafka.each_message("prices", deserializer: :itself.to_proc).first
    assert_equal HEADERS.transform_values { |value| value.is_a?(Array) ? value.map { |one| one&.b } : value&.b },
      message.raw_headers.transform_values { |value| value.is_a?(Array) ? value.map { |one| one&.b } : value&.b }
  end
end
