# frozen_string_literal: true

require "test_helper"

# What the application writes, on SQLite.
class OutboxTest < GuildhallTest
  PROGRAM = File.expand_path("../../support/outbox_program.rb", __dir__)

  def test_messages_are_there_if_the_transaction_is
    assert_outbox(<<~'RUBY')
      Guildhall::Kafka.routes { topic("orders") { serializer ->(payload) { "<#{payload}>" } } }
      Guildhall::Kafka.config.producer_middleware = [->(message) { message.merge(headers: {"step" => "1"}) }]
      service = Class.new do
        include Guildhall::Outbox
        def call(message) = ActiveRecord::Base.transaction { produce_in_transaction(message) || raise(ActiveRecord::Rollback) }
        def save(messages) = ActiveRecord::Base.transaction { produce_in_transaction(messages) }
      end.new
      service.call(topic: "orders", payload: :lost)
      equal(0, Message.count)
      service.save([{topic: :orders, key: "7", payload: :kept}, {topic: "orders", key: "7", payload: nil}])
      rows = Message.order(:id).to_a
      equal([["orders", "7", "<kept>"], ["orders", "7", nil]], rows.map { |row| [row.topic, row.key, row.payload] })
      equal({topic: "orders", key: "7", payload: "<kept>", headers: {"step" => "1", "outbox_id" => rows.first.id.to_s}}, rows.first.to_message)
      equal(1, rows.map(&:shard).uniq.size)
      error = raised(Outbox::NoTransactionError, Guildhall::Error) { Class.new { include Guildhall::Outbox }.new.send(:produce_in_transaction, {topic: "orders", payload: "a"}) }
      equal(true, error.message.start_with?("no transaction is open in the outbox's database"))
      Outbox.produce(topic: "orders", payload: "alone")
      equal(3, Message.count)
      equal(false, service.respond_to?(:produce_in_transaction))
    RUBY
  end

  def test_all_that_a_message_may_have_comes_back
    assert_outbox(<<~'RUBY')
      bytes = (0..255).map(&:chr).join.b
      at = Time.at(1_700_000_000, 250, :millisecond)
      headers = {"bytes" => bytes, symbol: :value, "several" => ["a", 1, nil], "invalid" => "\xFF", "number" => 1.5}
      Outbox.produce(topic: "orders", key: bytes, payload: bytes, partition: 3, timestamp: at, headers:)
      Outbox.produce(topic: "orders", payload: "x", partition_key: "p", timestamp: 1_700_000_000_000)
      first, second = Message.order(:id).map(&:to_message)
      equal([bytes, bytes, 3, at], first.values_at(:key, :payload, :partition, :timestamp))
      equal([bytes, "value", ["a", 1, nil], "\xFF".b, 1.5], first[:headers].values_at("bytes", "symbol", "several", "invalid", "number").map { |value| value.is_a?(String) ? value.b : value }.tap { |all| all[1] = all[1].to_s })
      equal(["p", 1_700_000_000_000], second.values_at(:partition_key, :timestamp))
      equal(true, Message.pluck(:shard).all? { |shard| shard.between?(1, 16) })
    RUBY
  end

  def test_what_is_no_message_is_refused_before_it_is_written
    assert_outbox(<<~'RUBY')
      [{topic: "orders!", payload: "a"}, {topic: "orders", payload: "a", partition_key: 1}, {topic: "orders", paylod: "a"}, [{topic: "orders", payload: "a"}, 1]].each do |wrong|
        raised(Guildhall::ArgumentError) { Outbox.produce(wrong) }
      end
      raised(Guildhall::EncodeError) { Outbox.produce(topic: "orders", payload: {id: 1}) }
      Outbox.produce([])
      equal(0, Message.count)
    RUBY
  end

  def test_a_migration_that_has_not_run_is_named
    assert_outbox(<<~'RUBY')
      [:guildhall_outbox_messages, :guildhall_outbox_shards].each { |name| ActiveRecord::Base.connection.drop_table(name) }
      [-> { Outbox.produce(topic: "orders", payload: "a") }, -> { Message.explaining { Message.status } }].each do |call|
        error = raised(Outbox::MissingTablesError, &call).message
        equal([true, true], ["the table guildhall_outbox_messages is missing", "generate guildhall:outbox"].map { |text| error.include?(text) })
      end
      raised(ActiveRecord::StatementInvalid) { Message.explaining { ActiveRecord::Base.connection.execute("SELEC") } }
    RUBY
  end

  def test_what_nobody_sends_is_told_once
    assert_outbox(<<~'RUBY')
      Guildhall::Kafka.config.outbox = false
      told = []
      Guildhall::Kafka.config.logger = nil
      Guildhall::Kafka.instrumentation.subscribe("app.advised") { |event| told << event.payload[:message] }
      2.times { Outbox.produce(topic: "orders", payload: "a") }
      equal([1, true, 2], [told.size, told.first.end_with?("write config.outbox = true into config/guildhall.rb"), Message.count])
      Guildhall::Kafka.reset
      Guildhall::Kafka.configure { |config| config.kafka = {"bootstrap.servers": "127.0.0.1:1"}; config.outbox = true; config.logger = nil }
      Guildhall::Kafka.instrumentation.subscribe("app.advised") { |event| told << event.payload[:message] }
      Outbox.produce(topic: "orders", payload: "a")
      equal(1, told.size)
    RUBY
  end

  # Who does not use the outbox does not load Active Record.
  def test_active_record_is_not_loaded_without_it
    code = 'require "guildhall/kafka"; Guildhall::Kafka.config.outbox = false; p defined?(ActiveRecord); Guildhall::Outbox; p Guildhall::Outbox.equal?(Guildhall::Kafka::Outbox)'
    assert_equal "nil\ntrue\n", assert_ruby(code, options: ["-W0"])
  end

  private

  def assert_outbox(code) = assert_equal("", assert_ruby("load #{PROGRAM.dump}\n#{code}", options: ["-W0"]))
end
