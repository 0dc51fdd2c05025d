# frozen_string_literal: true

require "test_helper"
require "support/fake_librdkafka"
require "support/kafka_partition"
require "support/kafka_records"
require "support/webhooks"
require "guildhall/avro"
require "guildhall/kafka"
require "guildhall/msgpack"

# `pluck` and `rows` of messages: read in C of what the reader has decoded, or of payloads; either way the same.
class KafkaMessagesColumnsTest < GuildhallTest
  include FakeLibrdkafka::Tested
  include KafkaRecords

  JSON = Guildhall::JSON
  PATHS = ["id", "customer.email", ["items", 0, "n"], "$..n", "customer", :offset, :key, :index, :partition, :topic, :timestamp, :timestamp_ms, :size, :raw_payload,
           :headers, [:headers, "trace"]].freeze
  ORDERS = ['{"id":1,"customer":{"email":"a@b"},"items":[{"n":1},{"n":2}]}', nil, '{"id":3,"customer":null,"items":[]}', "[]", "null", "7",
            '{"id":1,"customer":{"email":"c\u00e9"}}'].freeze

  STAGES = JSON.lazy >> Guildhall.select { |order| order["id"] } >> Guildhall.map { |order| {"id" => order["id"] * 2, "c" => order["customer"]} }

  # Marks the message of the last row.
  class PluckConsumer < Guildhall::Kafka::Consumer
    def consume
      rows = messages.pluck("id", :index)
      mark_as_consumed(messages[rows.last.last])
    end
  end

  class RowsConsumer < Guildhall::Kafka::Consumer
    SEEN = Thread::Queue.new

    def consume = messages.rows(id: "id").each { |row| SEEN << row[:id] }
  end

  # @return [Guildhall::Kafka::Messages] of real Records
  def native(payloads, codec = JSON.lazy, indexes: nil, &settings)
    settings ||= proc { deserializer(codec) }
    made = decoding(&settings)
    @reader&.close
    @reader = @kafka.reader(made.codec)
    payloads.each { |payload| @kafka.push(payload) }
    _, records, bytes, decoded = @reader.take(100).first.first
    batch(records, made, bytes, decoded, route(&settings)).then { |all| indexes ? all.messages(indexes) : all.messages }
  end

  # @return [Guildhall::Kafka::Messages] of plain records, decoded where they are asked for
  def plain(payloads, first_offset, indexes: nil, &settings)
    made = records(*payloads).map { |record| record.with(offset: record.offset + first_offset) }
    batch(made, decoding(&settings), 1, false, route(&settings)).then { |all| indexes ? all.messages(indexes) : all.messages }
  end

  def batch(records, decoding, bytes, decoded, topic)
    Guildhall::Kafka::Messages::Batch.new(records, decoding.begin(records, self, decoded), topic, bytes:)
  end

  def assert_same_rows(payloads, codec, paths, **options)
    made_by_hashes(payloads, codec, paths, **options) if codec.value_decoder
    made_by_hashes(payloads, codec.lazy, paths, plain: codec, **options)
  end

  def made_by_hashes(payloads, codec, paths, plain: codec, indexes: nil, **options)
    native = native(payloads, codec, indexes:)
    made = native.pluck(*paths, **options)
    eager = plain(payloads, native.batch.first_offset, indexes:) { deserializer(plain) && deserializing(parallel: false) }
    assert_equal eager.pluck(*paths, **options), made
    columns = Guildhall::Columns.new(*paths)
    assert_equal native.each_with_index.map { |message, index| message.row_of(columns, index) }, made if options.empty?
    native.each(&:payload) # Documents, or Hashes, from now on
    assert_equal made, native.pluck(*paths, **options)
    made
  end

  def test_the_same_as_of_payloads
    assert_same_rows(ORDERS, JSON, PATHS)
    assert_same_rows(ORDERS, JSON, PATHS - [:index])
    assert_same_rows(ORDERS, JSON, PATHS, tombstones: :skip)
    assert_same_rows(ORDERS, JSON, PATHS, indexes: [0, 1, 6])
    assert_equal [1, nil, 3, nil, nil, nil, 1], assert_same_rows(ORDERS, JSON, ["id"])
    assert_equal [0, 6], assert_same_rows(ORDERS, JSON, ["id", :index], indexes: [0, 6]).map { |_, index| index * 6 }
    packed = ORDERS.map { |text| text && Guildhall::MessagePack.encode(JSON.decode(text)) }
    assert_same_rows(packed, Guildhall::MessagePack, PATHS)
    assert_same_rows(Webhooks.texts.sample(60, random: Random.new(3)), JSON, ["action", "sender.login", "repository.owner", "$..id", ["commits", 0], :offset])
  end

  # What the reader has parsed stays with the Record: columns read it beside a thread, or a Ractor, that makes Hashes of it.
  def test_hashes_are_made_while_columns_are_read
    messages = native(ORDERS.compact * 20, JSON)
    rows = messages.pluck("id", "$..n", "customer")
    records = messages.records
    others = Array.new(2) { Ractor.new(records) { |given| given.map { |record| record.document&.then { it.is_a?(Hash) ? it["id"] : it } } } }
    threads = Array.new(2) { Thread.new { messages.map { |message| message.payload.then { it.is_a?(Hash) ? it["id"] : it } } } }
    20.times { assert_equal rows, messages.pluck("id", "$..n", "customer") }
    made = JSON.decode("[#{(ORDERS.compact * 20).join(",")}]").map { it.is_a?(Hash) ? it["id"] : it }
    threads.each { |thread| assert_equal made, thread.value }
    others.each { |ractor| assert_equal made.zip(records).map { |value, record| record.deferred? ? nil : value }, ractor_value(ractor) }
  end

  def test_hashes_of_the_reader_are_those_of_the_codec_msgpack
    packed = Webhooks.texts.sample(40, random: Random.new(5)).map { |text| Guildhall::MessagePack.encode(JSON.decode(text)) }
    packed += [Guildhall::MessagePack.encode({1 => [nil, 2**63, 1.5, "é".b, :a]}), "\x81\xa1a".b, "\xc1".b, "\x01".b, packed.first + "x"]
    [Guildhall::MessagePack, Guildhall::MessagePack.new(symbolize_names: true)].each { |codec| assert_payloads_of_the_codec(packed, codec) }
  end

  def test_hashes_of_the_reader_are_those_of_the_codec
    [JSON, JSON.new(symbolize_names: true, allow_nan: true, allow_duplicate_key: true)].each do |codec|
      texts = [*Webhooks.texts.sample(40, random: Random.new(5)), '{"a":1,"a":2}', '{"a":-Infinity}', "[1.5,-0,1e400,12345678901234567890123]", '{"\u00e9\n":"\ud83d\ude00"}', "{}", "[]", '"x"',
               "{", "[1,", "", "nul", "\xff"]
      assert_payloads_of_the_codec(texts, codec)
    end
  end

  def assert_payloads_of_the_codec(payloads, codec)
    native(payloads, codec).zip(payloads) do |message, payload|
      wanted = codec.decode(payload)
      assert_equal [wanted, true, true], [message.payload, message.payload.frozen?, Ractor.shareable?(message.payload)]
      assert_same message.payload, message.payload
    rescue Guildhall::DecodeError => expected
      error = assert_raises(expected.class) { message.payload }
      assert_equal [expected.message, expected.offset, expected.path, expected.excerpt], [error.message, error.offset, error.path, error.excerpt]
    end
  end

  def test_hashes_survive_collections_and_compaction
    under_gc_stress = native(ORDERS.compact * 2, JSON)
    GC.stress = true
    values = under_gc_stress.map(&:payload)
    GC.stress = false
    GC.compact if GC.respond_to?(:compact)
    assert_equal ORDERS.compact.map { |text| JSON.decode(text) } * 2, values
    assert_equal values.map { |value| value["id"] if value.is_a?(Hash) }, under_gc_stress.pluck("id")
  ensure
    GC.stress = false
  end

  def test_avro
    codec = Guildhall::Avro.new({type: "record", name: "o", fields: [{name: "id", type: "long"}, {name: "mail", type: %w[null string]}]})
    payloads = [codec.encode({"id" => 1, "mail" => nil}), nil, codec.encode({"id" => 2, "mail" => "é"})]
    assert_equal [[1, nil], [nil, nil], [2, "é"]], assert_same_rows(payloads, codec, %w[id mail])
  end

  def test_no_document_and_no_message_is_made
    messages = native(ORDERS.first(3))
    counted = [Guildhall::Kafka::Message, JSON::ObjectDocument]
    GC.start
    GC.disable
    before = counted.map { |one| ObjectSpace.each_object(one).count }
    assert_equal [[1, "a@b"], [nil, nil], [3, nil]], messages.pluck("id", "customer.email")
    assert_equal before, counted.map { |one| ObjectSpace.each_object(one).count }
  ensure
    GC.enable
  end

  def test_rows
    messages = native(ORDERS)
    assert_equal({id: 1, email: "a@b", at: messages.first_offset}, messages.rows(id: "id", email: "customer.email", at: :offset).first)
    assert_equal messages.rows(id: "id"), messages.rows({id: "id"})
    assert_equal messages.rows(id: "id"), messages.rows(Guildhall::Columns.new(id: "id"))
    assert_equal messages.pluck("id"), messages.pluck(Guildhall::Columns.new("id"))
    refute_predicate messages.rows(id: "id").first, :frozen?
    assert_equal({id: 1, unique_by: nil}, messages.rows({id: "id", unique_by: "x"}).first)
    assert_equal messages[0].row(id: "id"), messages.rows(id: "id").first
    assert_equal messages[0].pluck("id", :offset), messages.pluck("id", :offset).first
    assert_raises(Guildhall::ArgumentError) { messages[0].pluck(:index) }
    assert_raises(Guildhall::ArgumentError) { messages.rows("id") }
    assert_raises(Guildhall::ArgumentError) { messages.rows({id: "id"}, email: "x") }
    assert_raises(Guildhall::ArgumentError) { messages.rows(Guildhall::Columns.new("id")) }
    assert_raises(Guildhall::ArgumentError) { messages.pluck }
  end

  def test_the_last_of_each_key
    messages = native([[1, "a"], [2, "b"], [1, "c"], [nil, "d"], [nil, "e"]].map { |id, t| %({"id":#{id.inspect.sub("nil", "null")},"t":"#{t}"}) })
    assert_equal %w[b c d e], messages.rows(id: "id", t: "t", unique_by: :id).map { |row| row[:t] }
    assert_equal %w[a b c d e], messages.rows(id: "id", t: "t", unique_by: %i[id t]).map { |row| row[:t] }
    assert_match(/:nothing among :id/, assert_raises(Guildhall::ArgumentError) { messages.rows(id: "id", unique_by: :nothing) }.message)
  end

  # @return [Guildhall::Kafka::Messages] of [key, payload]
  def keyed(pairs, indexes: nil, &settings)
    settings ||= proc { deserializer(JSON) && deserializing(parallel: false) }
    made = records(*pairs.map(&:last)).zip(pairs).map { |record, (key, _)| record.with(key:) }
    batch(made, decoding(&settings), 1, false, route(&settings)).then { |all| indexes ? all.messages(indexes) : all.messages }
  end

  # A key is written or deleted, as its last message says, never both.
  def test_compacted
    pairs = [["a", '{"v":0}'], ["b", '{"v":1}'], ["a", nil], ["b", '{"v":3}'], [nil, '{"v":4}'], ["c", nil], ["a", '{"v":6}'], [nil, '{"v":7}'], ["c", nil]]
    messages = keyed(pairs)
    latest = messages.compacted
    assert_equal [3, 4, 6, 7, 8], latest.map(&:offset)
    assert_equal [["b", 3], [nil, 4], ["a", 6], [nil, 7]], latest.rows(key: :key, v: "v", tombstones: :skip).map(&:values)
    assert_equal [["c", 8]], latest.tombstones.map { |message| [message.key, message.offset] }
    assert_equal [9, 8, 8], [messages.size, messages.last_read, latest.last_offset]
    assert_equal [0, 1], keyed(pairs, indexes: [0, 1]).compacted.map(&:offset)
    assert_empty keyed(pairs, indexes: []).compacted
    assert_equal [4, 7, 8], keyed(pairs) { deserializers key: ->(key) { [5] if key } }.compacted.map(&:offset)
  end

  # Payloads that middleware has replaced stay replaced.
  def test_compacted_messages_are_the_same
    messages = keyed([["a", '{"v":0}'], ["a", '{"v":1}']])
    messages[1].payload = {"v" => 2}
    assert_same messages[1], messages.compacted.first
    assert_equal [{v: 2}], messages.compacted.rows(v: "v")
  end

  # Of compacted messages, too, the one that has failed is known: it need not be searched for.
  def test_the_compacted_message_that_fails
    messages = keyed([["a", "{}"], ["b", "{}"], ["a", "{"], ["c", "{}"]])
    error = assert_raises(JSON::ParseError) { messages.compacted.rows(v: "v") }
    assert_equal 2, messages.failing_offset(error)
    error = assert_raises(RuntimeError) { messages.compacted.each { |message| raise("refused") if message.key == "c" } }
    assert_equal 3, messages.failing_offset(error)
    error = assert_raises(RuntimeError) { messages.compacted.each_slice(2) { raise("refused") } }
    assert_nil messages.failing_offset(error)
  end

  # As on a database: refuses one row, and with it the statement.
  class CompactingConsumer < Guildhall::Kafka::Consumer
    TABLE = {} # rubocop:disable Style/MutableConstant

    def consume
      latest = messages.compacted
      rows = latest.rows(key: :key, v: "v", tombstones: :skip)
      raise(IndexError, "too large") if rows.any? { |row| row[:v] > 99 }

      latest.tombstones.each { |message| TABLE.delete(message.key) }
      rows.each { |row| TABLE[row[:key]] = row[:v] }
    end
  end

  # The refused one alone becomes a dead letter, and what it has superseded in its batch is written.
  def test_a_consumer_that_compacts
    partition = KafkaPartition.new(CompactingConsumer) do
      deserializer JSON
      dead_letter_queue topic: "dead", max_retries: 1
    end
    sent = [["a", 1], ["b", 2], ["c", 3], ["a", nil], ["b", 100], ["d", 5], ["c", 6], ["a", 7], ["d", nil]]
    partition.deliver_keyed(sent.map { |key, v| [key, v && %({"v":#{v}})] })
    assert partition.work
    assert_equal [[4], 9], [partition.dead, partition.committed]
    assert_equal({"a" => 7, "b" => 2, "c" => 6}, CompactingConsumer::TABLE)
  end

  def test_what_cannot_be_decoded
    payloads = [ORDERS[0], "{", nil, ORDERS[6], "", "\xff"]
    [native(payloads), plain(payloads, 0) { deserializer(JSON) && deserializing(parallel: false) }].each do |messages|
      error = assert_raises(JSON::ParseError) { messages.pluck("id") }
      assert_equal assert_raises(JSON::ParseError) { messages[1].payload }.message, error.message
      assert_equal messages.first_offset + 1, messages.failing_offset(error)
      assert_equal messages.first_offset + 1, messages.last_read
      assert_equal [[1, 0], [nil, 2], [1, 3]], messages.pluck("id", :index, undecodable: :skip)
      assert_equal [[1, 0], [1, 3]], messages.pluck("id", :index, undecodable: :skip, tombstones: :skip)
      assert_equal [1, 4, 5], messages.failures.map { |message| message.offset - messages.first_offset }
      assert_equal messages.first_offset + 5, messages.last_read
      assert_equal (0..5).to_a, messages.pluck(:index), "nothing of payloads is asked for"
      assert_raises(Guildhall::ArgumentError) { messages.pluck("id", undecodable: :nothing) }
      assert_raises(Guildhall::ArgumentError) { messages.pluck("id", tombstones: true) }
    end
  end

  def test_beside_one_that_cannot_be_decoded_no_document_is_made
    payloads = [*ORDERS.values_at(0, 6), "{", *ORDERS.values_at(0, 6)]
    messages = native(payloads)
    GC.start
    GC.disable
    before = ObjectSpace.each_object(JSON::ObjectDocument).count
    assert_equal [1, 1, 1, 1], messages.pluck("id", undecodable: :skip)
    assert_equal before, ObjectSpace.each_object(JSON::ObjectDocument).count
    GC.enable
    assert_equal [true, true, false, true, true], messages.map { |message| message.failure.nil? }
    assert_equal [1, 1, 1, 1], messages.each_decoded.map { |_, order| order["id"] }
  ensure
    GC.enable
  end

  # Raises for orders without items.
  class RaisingPath < JSON::Path
    def steps = nil
    def of(order) = order["items"] ? super : raise(ArgumentError, "no items")
  end

  def test_the_message_at_which_a_path_raises
    payloads = [nil, ORDERS[0], ORDERS[6]]
    [native(payloads), plain(payloads, 0) { deserializer(JSON) && deserializing(parallel: false) }].each do |messages|
      %i[keep skip].each do |tombstones|
        error = assert_raises(ArgumentError) { messages.rows(id: "id", n: RaisingPath.new("$..n"), tombstones:) }
        assert_equal ["no items", messages.first_offset + 2], [error.message, messages.failing_offset(error)]
      end
    end
  end

  # Says nothing about the payload.
  def test_an_outage_is_raised_and_not_skipped
    messages = plain(["a"], 0) { deserializer(->(_) { raise Errno::ECONNREFUSED }) && deserializing(parallel: false) }
    assert_raises(Errno::ECONNREFUSED) { messages.pluck("id", undecodable: :skip) }
  end

  def test_what_a_pipeline_gives
    payloads = [ORDERS[0], ORDERS[2], '{"a":1}', ORDERS[6]]
    messages = native(payloads) { deserializer(STAGES) && deserializing(parallel: false) }
    assert_equal [[2, "a@b", 0], [6, nil, 1], [2, "cé", 2]], messages.pluck("id", "c.email", :index)
  end

  def test_the_deserializers_of_keys_and_headers
    messages = native(ORDERS) do
      deserializer Guildhall::JSON.lazy
      deserializers headers: ->(headers) { {"all" => headers.size} }
    end
    assert_equal [{"all" => 0}, 0, 1], messages.pluck(:headers, [:headers, "all"], "id").first
  end

  def test_a_payload_that_was_replaced
    messages = native(ORDERS)
    messages[0].payload = {"id" => "another"}
    assert_equal ["another", nil, 3], messages.pluck("id").first(3)
  end

  def test_the_time_of_a_plain_record_is_shareable
    messages = batch([records('{"a":1}').first.with(timestamp_ms: 5).freeze], decoding { deserializer(JSON.lazy) }, 1, false, route).messages
    [messages.pluck(:timestamp).first, messages.first.pluck(:timestamp)].each { |time| assert_equal [Time.at(0, 5, :millisecond), true], [time, Ractor.shareable?(time)] }
    messages.first.timestamp.localtime
  end

  def test_topics_without_a_deserializer
    messages = plain(["x"], 5)
    assert_equal [["x", 5]], messages.pluck(:raw_payload, :offset)
    assert_match(/no deserializer/, assert_raises(Guildhall::ArgumentError) { messages.pluck("id") }.message)
  end

  def test_paths_are_compiled_once_and_not_without_end
    made = decoding { deserializer JSON.lazy }
    path = +"a.b"
    assert_same made.columns([path], {}), made.columns(["a.b"], {})
    path << ".c"
    refute_same made.columns([path], {}), made.columns(["a.b"], {})
    refute_same made.columns([], {a: "a"}), made.columns(["a"], {})
    300.times { |i| made.columns(["a#{i}"], {}) }
    assert_operator made.instance_variable_get(:@columns).size, :<=, 100
  end

  # Also where the same names were asked for in another order.
  def test_rows_have_their_names_in_the_order_that_was_asked_for
    messages = native(['{"a":1,"b":2}'])
    assert_equal [%i[a b], %i[b a]], [messages.rows(a: "a", b: "b"), messages.rows(b: "b", a: "a")].map { |rows| rows.first.keys }
  end

  def test_a_consumer_that_plucks_and_marks
    partition = KafkaPartition.new(PluckConsumer) { deserializer(Guildhall::JSON) && manual_offset_management }
    partition.deliver(0...5) { |offset| %({"id":#{offset}}) }
    assert partition.work
    assert_equal 5, partition.committed
  end

  # Whether the reader has decoded it or not, the message alone is dead-lettered.
  def test_a_consumer_that_plucks_what_cannot_be_decoded
    partition = KafkaPartition.new(RowsConsumer) do
      deserializer Guildhall::JSON
      dead_letter_queue topic: "dead", max_retries: 1
    end
    partition.deliver(0...9) { |offset| offset == 4 ? "{" : %({"id":#{offset}}) }
    assert partition.work
    seen = Array.new(RowsConsumer::SEEN.size) { RowsConsumer::SEEN.pop }
    assert_equal [[4], 9, (0..8).to_a - [4]], [partition.dead, partition.committed, seen.uniq.sort]
  end

  def test_a_column_keeps_no_payload
    payloads = Array.new(30) { |i| %({"id":"#{i}","big":"#{"x" * 30_000}"}) }
    kept = pluck_and_forget(payloads)
    GC.start
    GC.start
    assert_operator ObjectSpace.each_object(Guildhall::Kafka::Record).count { |record| record.size > 25_000 }, :<, 10
    assert_equal "29", kept.last
  end

  STRESS = <<~'RUBY'
    require "guildhall/kafka"
    require "guildhall/kafka/native"
    $LOAD_PATH.unshift("test")
    require "support/fake_librdkafka"
    kafka = FakeLibrdkafka.new
    reader = kafka.reader(Guildhall::JSON.lazy)
    columns = Guildhall::Columns.new(id: "id", mail: "c.mail", c: "c", any: "$..mail", at: :offset, key: :key, headers: :headers, big: "k40")
    texts = Array.new(5) { |i| %({"id":#{i},"c":{"mail":"größe#{"x" * i}\\n"},#{Array.new(50) { |k| %("k#{k}":[#{k}]) }.join(",")}}) }
    take = lambda do
      texts.each { |text| kafka.push(text) }
      kafka.push(nil)
      reader.take(100).first.first[1]
    end
    rows = ->(records) { records.first.class.rows(records, (0...records.size).to_a, columns, true, []).map { |row| row.except(:at) } }
    expected = texts.map { |text| columns.row(Guildhall::JSON.decode(text)) { |name| name == :headers ? {} : nil }.except(:at) } << {id: nil, mail: nil, c: nil, any: nil, key: nil, headers: {}, big: nil}
    GC.stress = true
    records = take.call
    GC.stress = false
    simple = Guildhall::Columns.new(id: "id", mail: "c.mail", c: "c", at: :offset, key: :key, headers: :headers, big: "k40")
    GC.stress = true
    made = records.first.class.rows(records, [0, 4, 5], simple, true, [])
    GC.stress = false
    abort("under stress: #{made}") unless made.map { |row| row.except(:at) } == expected.values_at(0, 4, 5).map { |row| row.except(:any) }
    records.each(&:document)
    abort("of documents") unless rows.call(records) == expected
    GC.auto_compact = true if GC.respond_to?(:auto_compact=)
    100.times do |round|
      records = take.call
      records[round % 5].document
      made = rows.call(records)
      records = nil
      GC.compact if round % 50 == 0 && GC.respond_to?(:compact)
      abort("compacting") unless made == expected
    end
    GC.auto_compact = false if GC.respond_to?(:auto_compact=)
    records = Ractor.make_shareable(take.call)
    ractors = Array.new(3) { Ractor.new(records, columns) { |all, c| Array.new(30) { Ractor.make_shareable(all.first.class.rows(all, (0...all.size).to_a, c, true, [])) }.uniq } }
    records.each(&:document)
    ractors.each { |ractor| abort("in Ractors") unless (ractor.respond_to?(:value) ? ractor.value : ractor.take).map { |all| all.map { |row| row.except(:at) } } == [expected] }
    reader.close
  RUBY

  def test_garbage_collection_and_ractors = assert_ruby(STRESS)

  private

  def pluck_and_forget(payloads)
    kept = nil
    Thread.new { kept = native(payloads).pluck("id") }.join # on a stack that is gone afterwards
    kept
  end
end
