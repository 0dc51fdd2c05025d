# frozen_string_literal: true

require "test_helper"

# What becomes of rows, on SQLite: sent by a stand-in of the producer that refuses what the test says, or to the embedded broker.
class OutboxRelayTest < GuildhallTest
  def self.apart? = true

  PROGRAM = File.expand_path("../../../support/outbox_program.rb", __dir__)

  def test_rows_arrive_in_order_by_key_and_are_deleted
    assert_outbox(<<~'RUBY')
      broker = Guildhall::Kafka::Testing::EmbeddedBroker.start
      broker.create_topic("orders", partitions: 3)
      Guildhall::Kafka.configure { |config| config.kafka = {"bootstrap.servers": broker.bootstrap_servers}; config.outbox = true }
      50.times { |number| Outbox.produce(Array.new(10) { |key| {topic: "orders", key: "k#{key}", payload: number.to_s} }) }
      ids = Message.order(:id).pluck(:key, :id).group_by(&:first).transform_values { |some| some.map { |_, id| id.to_s } }
      Guildhall::Kafka.start # without routes
      eventually("sent") { Message.count.zero? }
      equal([], Guildhall::Kafka::Health.new(Guildhall::Kafka.application).ready.problems)
      equal(true, Guildhall::Kafka.stop)
      found = Guildhall::Kafka.each_message("orders").to_a.group_by(&:raw_key)
      equal((0...10).map { |key| "k#{key}" }, found.keys.sort)
      found.each do |key, messages|
        equal((0...50).map(&:to_s), messages.sort_by(&:offset).map(&:raw_payload))
        equal(ids.fetch(key), messages.sort_by(&:offset).map { |message| message.headers["outbox_id"] })
      end
      equal(500, events("outbox.sent").sum { |event| event[:size] })
      equal([], Outbox::Shard.where.not(lease: nil).pluck(:id))
      broker.stop
    RUBY
  end

  # A transaction that began first and ends last.
  def test_a_row_that_becomes_visible_late_is_sent
    assert_outbox(<<~'RUBY')
      Outbox.produce(topic: "orders", key: "a", payload: "before")
      late = Message.last.attributes.except("id")
      Message.delete_all
      Outbox.produce(topic: "orders", key: "a", payload: "later id")
      producer = FakeProducer.new
      relaying(producer) do
        eventually("sent") { Message.count.zero? && producer.sent.size == 1 }
        Message.insert!({**late, "id" => 1, "payload" => "lower id"}, record_timestamps: false)
        eventually("sent, too") { producer.sent.size == 2 && Message.count.zero? }
      end
      equal(["later id", "lower id"], producer.sent.map { |message| message[:payload] })
    RUBY
  end

  # A broker refuses all messages of a request for one of them, and librdkafka sends nothing behind them.
  def test_the_row_that_is_refused_is_found_and_parked
    assert_outbox(<<~'RUBY')
      Outbox.produce(Array.new(10) { |number| {topic: "orders", key: "a", payload: number.to_s} })
      calls = 0
      producer = FakeProducer.new do |message|
        calls += 1
        next refused(:msg_size_too_large) if message[:payload] == "4"

        calls <= 10 && Integer(message[:payload]) > 1 ? refused(Integer(message[:payload]) < 6 ? :msg_size_too_large : :gapless) : nil
      end
      relaying(producer) { eventually("sent or parked") { Message.waiting.none? } }
      equal(%w[0 1 2 3 5 6 7 8 9], producer.sent.map { |message| message[:payload] })
      row = Message.parked.first
      equal(["4", true], [row.payload, row.error.include?("raise max.message.bytes of topic orders")])
      equal([{id: row.id, topic: "orders", error_class: "Guildhall::Kafka::ProduceError", reason: row.error}], events("outbox.parked"))
      equal(Message::Status.new(messages: 0, seconds: 0.0, parked: 1), Message.status)
      equal(1, Message.retry)
      equal([[false, nil]], Message.pluck(:parked, :error))
      again = FakeProducer.new
      relaying(again) { eventually("sent") { Message.none? } }
      equal(["4"], again.sent.map { |message| message[:payload] })
    RUBY
  end

  def test_a_topic_that_is_missing_holds_up_no_other
    assert_outbox(<<~'RUBY')
      Outbox.produce(Array.new(6) { |number| {topic: number.even? ? "orders" : "missing", key: "a", payload: number.to_s} })
      producer = FakeProducer.new { |message| refused(:unknown_topic_or_part, "missing") if message[:topic] == "missing" }
      relaying(producer) { eventually("sent or parked") { Message.waiting.none? } }
      equal(%w[0 2 4], producer.sent.map { |message| message[:payload] })
      equal([["1", "3", "5"], true], [Message.parked.order(:id).map(&:payload), Message.parked.all? { |row| row.error.include?("create topic missing") }])
    RUBY
  end

  # Written by hand, say.
  def test_a_row_that_is_no_message_is_parked
    assert_outbox(<<~'RUBY')
      Outbox.produce([{topic: "orders", key: "a", payload: "1"}, {topic: "orders", key: "a", payload: "2"}, {topic: "orders", key: "a", payload: "3"}])
      Message.first.update_columns(topic: "orders!")
      Message.last.update_columns(options: "\xC1".b)
      # No Hash, and headers that are none: a row that raises something else would hold up its shard for ever.
      [5, nil, [1], {headers: "text"}, {headers: [1]}].each do |options|
        Outbox.produce(topic: "orders", key: "a", payload: options.inspect)
        Message.last.update_columns(options: Guildhall::MessagePack.encode(options))
      end
      producer = FakeProducer.new
      relaying(producer) { eventually("sent or parked") { Message.waiting.none? } }
      equal(["2"], producer.sent.map { |message| message[:payload] })
      equal(7, Message.parked.count)
      equal(true, Message.parked.all? { |row| !row.error.empty? })
    RUBY
  end

  # What was handed over is not sent again, behind it, while nobody knows whether it has arrived.
  def test_brokers_that_do_not_answer_lose_nothing_and_hold_up_no_stop
    assert_outbox(<<~'RUBY')
      Guildhall::Kafka.configure { |config| config.outbox = true; config.shutdown_timeout = 5 }
      Outbox.produce(Array.new(5) { |number| {topic: "orders", key: "a", payload: number.to_s} })
      Guildhall::Kafka.start
      eventually("a lease is taken") { Outbox::Shard.where.not(lease: nil).any? }
      measured = eventually("measured while it waits") { events("outbox.measured").find { |one| one[:messages] == 5 } }
      equal([5, 0, true], [measured[:messages], measured[:parked], measured[:seconds].between?(0, 600)])
      Guildhall::Kafka.stop
      equal([5, 0], [Message.waiting.count, Outbox::Shard.where.not(lease: nil).count])
    RUBY
  end

  def test_brokers_that_go_away_and_come_back
    assert_outbox(<<~'RUBY')
      broker = Guildhall::Kafka::Testing::EmbeddedBroker.start
      broker.create_topic("orders")
      Guildhall::Kafka.configure { |config| config.kafka = {"bootstrap.servers": broker.bootstrap_servers}; config.outbox = true; config.logger = nil }
      Guildhall::Kafka.start
      Outbox.produce(topic: "orders", key: "a", payload: "0")
      eventually("sent") { Message.none? }
      broker.suspend
      Outbox.produce(Array.new(5) { |number| {topic: "orders", key: "a", payload: (number + 1).to_s} })
      eventually("measured") { events("outbox.measured").any? { |one| one[:messages] == 5 && one[:seconds].positive? } }
      Outbox.produce(topic: "orders", key: "a", payload: "6")
      Guildhall::Kafka.application.outbox.instance_variable_get(:@producer).purge # as where its leases are late
      broker.resume
      eventually("sent") { Message.none? }
      equal(true, Guildhall::Kafka.stop)
      equal((0..6).map(&:to_s), Guildhall::Kafka.each_message("orders").to_a.sort_by(&:offset).map(&:raw_payload).uniq)
      broker.stop
    RUBY
  end

  # Another one sends newer rows meanwhile. The database does not answer here.
  def test_a_relay_that_cannot_renew_its_leases_drops_what_is_on_its_way
    assert_outbox(<<~'RUBY')
      Outbox.produce(Array.new(5) { |number| {topic: "orders", key: "a", payload: number.to_s} })
      producer = StuckProducer.new
      leases = Outbox::Shard::Leases.new("relay")
      database = Thread::Queue.new
      leases.define_singleton_method(:renew) { database.pop if producer.sent.any? }
      relaying(producer, leases:) do
        handed_over(producer)
        Travel.seconds = 11
        eventually("the database is asked") { database.num_waiting == 1 }
        eventually("dropped") { producer.dropped }
        database.close
      end
      equal(5, Message.waiting.count)
    RUBY
  end

  def test_a_relay_whose_leases_are_late_hands_over_nothing
    assert_outbox(<<~'RUBY')
      Outbox.produce(topic: "orders", key: "a", payload: "1")
      producer = FakeProducer.new
      leases = Outbox::Shard::Leases.new("relay")
      sent = []
      taking = Module.new do
        define_method(:take) do
          sent << producer.sent.size
          super().tap { Travel.seconds += 11 if sent.size == 1 }
        end
      end
      leases.singleton_class.prepend(taking)
      relaying(producer, leases:) { eventually("sent") { Message.none? } }
      equal([0, 0], sent.first(2))
    RUBY
  end

  # Its leases are free from then on: what still arrived would arrive behind what another relay sends. Also where a subscriber ends its thread.
  def test_what_nobody_waits_for_any_more_is_dropped_before_the_leases_are_given_back
    assert_outbox(<<~'RUBY')
      Outbox.produce(topic: "orders", key: "a", payload: "1")
      order = []
      producer = StuckProducer.new
      producer.singleton_class.prepend(Module.new { define_method(:purge) { super().tap { order << :dropped } } })
      leases = Outbox::Shard::Leases.new("relay")
      leases.singleton_class.prepend(Module.new { define_method(:release) { super().tap { order << :released } } })
      stopped_while_it_waits(producer, leases:)
      equal([%i[dropped released], 1], [order, Message.waiting.count])

      order.clear
      ended = false
      subscription = Guildhall::Kafka.instrumentation.subscribe("outbox.measured") { ended ||= producer.sent.size == 2 && Thread.exit }
      [producer.sent, producer.waits].each(&:clear)
      Outbox.produce(topic: "orders", key: "a", payload: "2")
      relaying(producer, leases:) do
        handed_over(producer)
        Travel.seconds += 6
        eventually("its thread has ended, and another one goes on") { order.first(2).size == 2 }
        equal(%i[dropped released], order.first(2))
      end
    RUBY
  end

  # All hundred rows of four shards would be 6 GB, of the largest.
  def test_a_turn_has_no_more_bytes_than_memory_is_for
    assert_outbox(<<~'RUBY')
      payload = "x" * 5_000_000
      20.times { |number| Outbox.produce(topic: "orders", key: "key #{number % 5}", payload: "#{number} #{payload}") }
      Outbox.produce(topic: "orders", key: "key 1", payload: nil)
      turns = []
      producer = FakeProducer.new
      producer.singleton_class.prepend(Module.new { define_method(:start_all) { |messages, seconds| super(messages, seconds).tap { turns << messages.sum { |one| one[:payload].to_s.bytesize } } } })
      relaying(producer) { eventually("sent") { Message.none? } }
      equal(true, turns.max <= 64 * 1024 * 1024)
      numbers = producer.sent.map { |message| [message[:key], message[:payload]&.to_i] }.group_by(&:first).transform_values { |some| some.map(&:last) }
      equal((0...5).to_h { |key| ["key #{key}", [key, key + 5, key + 10, key + 15, *(nil if key == 1)]] }.tap { |all| all["key 1"] << nil }, numbers)
      Outbox::Relay.send(:remove_const, :BYTES)
      Outbox::Relay::BYTES = 10 # less than one row has
      Outbox.produce(Array.new(3) { |number| {topic: "orders", key: "key 1", payload: "larger #{number}"} })
      relaying(producer) { eventually("sent") { Message.none? } }
      equal(3.times.map { |number| "larger #{number}" }, producer.sent.last(3).map { |message| message[:payload] })
    RUBY
  end

  # For each message by itself that would be a fifth of a second.
  def test_a_stop_waits_once_for_all_messages
    assert_outbox(<<~'RUBY')
      Outbox.produce(Array.new(100) { |number| {topic: "orders", key: "a", payload: number.to_s} })
      producer = StuckProducer.new
      stopped_while_it_waits(producer)
      equal([100, 1], [producer.waits.size, producer.waits.count(Float::INFINITY)])
    RUBY
  end

  # It keeps its leases, and ends when it is stopped.
  def test_rows_that_are_sent_again_each_by_itself
    assert_outbox(<<~'RUBY')
      Outbox.produce(Array.new(10) { |number| {topic: "orders", key: "a", payload: number.to_s} })
      calls = 0
      held = []
      one = nil
      producer = FakeProducer.new do
        next refused(:msg_size_too_large) if (calls += 1) <= 10

        held << Outbox::Shard.where.not(lease: nil).pluck(:lease)
        Travel.seconds += 6
        one.stop(Guildhall::Clock.now) if calls == 13
        nil
      end
      one = relay(producer).start
      equal(true, one.close(Guildhall::Clock.now + 600))
      equal([%w[0 1 2], 3], [producer.sent.map { |message| message[:payload] }, held.uniq.size])
      equal(7, Message.waiting.count)
    RUBY
  end

  # A partition without a leader, say.
  def test_it_tells_of_a_topic_that_brokers_do_not_take_messages_of
    assert_outbox(<<~'RUBY')
      Outbox.produce(topic: "orders", key: "a", payload: "1")
      producer = StuckProducer.new
      leases = Outbox::Shard::Leases.new("relay")
      leases.define_singleton_method(:late?) { false }
      relaying(producer, leases:) do |relay|
        handed_over(producer)
        equal(nil, relay.problem)
        Travel.seconds = 60
        problem = eventually("a problem") { relay.problem }
        equal(true, problem.match?(/\Ano broker has taken a message to topic orders for \d+ s\z/))
        producer.purge
        eventually("no problem") { relay.problem.nil? }
      end
    RUBY
  end

  def test_errors_of_the_database_are_told_and_pass
    assert_outbox(<<~'RUBY')
      Message.connection_pool.with_connection { |connection| connection.rename_table(:guildhall_outbox_messages, :elsewhere) }
      producer = FakeProducer.new
      relaying(producer) do |relay|
        eventually("a problem") { relay.problem }
        equal(true, relay.problem.include?("bin/rails db:migrate"))
        error = events("error.occurred").first
        equal(["outbox", Outbox::MissingTablesError], [error[:type], error[:error].class])
        Message.connection_pool.with_connection { |connection| connection.rename_table(:elsewhere, :guildhall_outbox_messages) }
        Outbox.produce(topic: "orders", key: "a", payload: "1")
        eventually("sent") { producer.sent.size == 1 && Message.none? }
        eventually("no problem") { relay.problem.nil? }
      end
    RUBY
  end

  private

  def assert_outbox(code) = assert_equal("", assert_ruby("load #{PROGRAM.dump}\n#{code}", options: ["-W0"]))
end
