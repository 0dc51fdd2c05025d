# frozen_string_literal: true

require "test_helper"
require "guildhall/avro"
require "guildhall/web"
require "guildhall/kafka/testing"
require "rack/mock_request"
require "support/registry_server"

# Looking through the messages of a topic, on the embedded broker.
class WebExplorerTest < GuildhallTest
  Web = Guildhall::Web
  Topics = Guildhall::Kafka::Admin::Topics

  def setup
    @broker = Guildhall::Kafka::Testing::EmbeddedBroker.start
    @broker.create_topic("t", partitions: 2)
    begin_application
  end

  def begin_application
    @application&.pool_in_use&.shutdown
    @application = Guildhall::Kafka::Application.new
    @application.config.kafka = {"bootstrap.servers": @broker.bootstrap_servers}
    @application.config.logger = nil
    @cluster = Web::Cluster.new(@application)
  end

  def teardown
    @clusters.to_a.each(&:close)
    @application.pool_in_use&.shutdown
    @broker.stop
  end

  # One in five is broken.
  def produce(count, partition: 0)
    producer = Rdkafka::Config.new("bootstrap.servers": @broker.bootstrap_servers).producer
    sent = Array.new(count) { |i| producer.produce(topic: "t", partition:, key: "k#{i % 3}", payload: i % 5 == 4 ? "{" : %({"id":#{i}})) }
    sent.each(&:wait)
    @ends = {0 => 0, 1 => 0, **@ends.to_h, partition => count}
  ensure
    producer.close
  end

  def look(max_bytes: 256_000_000, hide: [], **form)
    partitions = @ends.map { |number, last| Topics::Partition.new(number:, leader: 1, replicas: [1], in_sync: [1], offsets: 0...last) }
    topic = Topics::Topic.new(name: "t", id: nil, internal: false, partitions:)
    fields = {from: "newest", at: nil, partition: nil, key: nil, where: nil, codec: nil, rest: nil, **form}
    Web::Explorer.new(@cluster, topic, Web::Explorer::Form.new(**fields), hidden: Web::Hidden.new(hide), max_bytes:).run
  end

  # Whatever is given to a producer; in partition 0.
  def send_messages(*messages)
    producer = Rdkafka::Config.new("bootstrap.servers": @broker.bootstrap_servers, "message.max.bytes": 100_000_000).producer
    messages.each { |message| producer.produce(topic: "t", partition: 0, **message).wait }
    @ends = {0 => messages.size, 1 => 0}
  ensure
    producer.close
  end

  def route(deserializer)
    consumer = Class.new(Guildhall::Kafka::Consumer) { def consume; end }
    @application.routes.draw do
      topic(:t) do
        consumer consumer
        deserializer deserializer
      end
    end
  end

  # The dashboard's pages; the embedded broker does not describe topics.
  def pages(authorize: ->(*) { true }, **)
    partitions = @ends.map { |number, last| Topics::Partition.new(number:, leader: 1, replicas: [1], in_sync: [1], offsets: 0...last) }
    topic = Topics::Topic.new(name: "t", id: nil, internal: false, partitions:)
    cluster = Web::Cluster.new(@application)
    (@clusters ||= []) << cluster
    cluster.define_singleton_method(:topic) { |_| topic }
    cluster.define_singleton_method(:offsets) { |*| [] }
    web = Web.new(application: @application, authorize:, **)
    web.define_singleton_method(:cluster) { cluster }
    Rack::MockRequest.new(web)
  end

  def data(pages, path) = JSON.parse(pages.get(path, "HTTP_ACCEPT" => "application/json").body)

  AVRO = Guildhall::Avro.new('{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}')

  # "t" is a dead letter topic of three topics, one of them a pattern.
  def dead_letter_routes
    consumer = Class.new(Guildhall::Kafka::Consumer) { def consume; end }
    @application.routes.draw do
      {"orders" => AVRO, /payments/ => Guildhall::JSON.lazy, "bytes" => nil}.each do |name, codec|
        topic(name) do
          consumer consumer
          deserializer codec if codec
          dead_letter_queue topic: "t"
        end
      end
    end
    send_messages({payload: AVRO.encode({"id" => 7}), headers: {"source_topic" => "orders"}}, {payload: "\xFF\xFF", headers: {"source_topic" => "orders"}},
      {payload: '{"id":7}', headers: {"source_topic" => "payments.eu"}}, {payload: '{"id":8}'})
  end

  def test_dead_letters_are_decoded_as_the_routes_say_that_they_are_from
    dead_letter_routes
    data = ->(path) { data(pages, path) }
    rows = data.call("/topics/t/messages?from=earliest")["rows"]
    assert_equal ['{"id":7}', nil, '{"id":7}', '{"id":8}'], rows.map { |row| row["preview"] if row["error"].nil? }
    assert_match(/\S/, rows[1]["error"])
    letter = data.call("/topics/t/0/0")
    assert_equal [nil, 7], [letter["error"], JSON.parse(letter["payload"])["id"]]
    assert_match(/\S/, data.call("/topics/t/0/1")["error"])
    found = data.call("/topics/t/messages?from=earliest&where=#{Rack::Utils.escape("$.id == 7")}")["rows"]
    assert_equal [0, 1, 2], found.map { |row| row["offset"] } # what cannot be decoded is shown, too
  end

  # Thousands are decoded on the pool; what workers cannot get, such as schemas, is got before.
  def test_dead_letters_are_decoded_by_workers_and_with_a_registry
    require "guildhall/schema_registry"
    dead_letter_routes
    assert Ractor.shareable?(Web::LetterCodec.of("t", @application.validate!))
    assert_nil Web::LetterCodec.of("orders", @application.validate!)
    registry = RegistryServer.new
    registry.add(1, {type: "record", name: "Order", fields: [{name: "id", type: "long"}]})
    prefixed = "\0\0\0\0\1".b
    {registry.url => [nil, 7], "http://127.0.0.1:1" => ["127.0.0.1", nil]}.each do |url, (reason, id)|
      begin_application
      codec = Guildhall::Avro::Confluent.new(Guildhall::SchemaRegistry.new(url))
      consumer = Class.new(Guildhall::Kafka::Consumer) { def consume; end }
      @application.routes.draw do
        topic("orders") do
          consumer consumer
          deserializer codec
          dead_letter_queue topic: "t"
        end
      end
      send_messages({payload: prefixed + AVRO.encode({"id" => 7}), headers: {"source_topic" => "orders"}}) if id
      @ends = {0 => 5, 1 => 0}
      row = data(pages, "/topics/t/messages?partition=0")["rows"].first
      id ? assert_equal(%({"id":7}), row["preview"], row["error"]) : assert_includes(row["error"], reason)
      letter = data(pages, "/topics/t/0/4")
      id ? assert_equal(7, JSON.parse(letter["payload"])["id"]) : assert_includes(letter["error"], reason)
    end
  ensure
    registry&.close
  end

  def test_of_dead_letters_what_is_hidden_of_their_topic_is_hidden
    dead_letter_routes
    letter = data(pages(hide: {"orders" => ["$.id"]}), "/topics/t/0/0")
    assert_equal [true, ["$.id"]], [letter["payload"].include?("[hidden]"), letter["hidden"]]
  end

  # @return [Array<Array(Integer, Integer)>] partitions and offsets of all messages, page after page
  def every_page
    seen = []
    rest = nil
    loop do
      result = look(rest:)
      seen.concat(result.found.map { |found| [found.record.partition, found.record.offset] })
      rest = result.rest or return seen
    end
  end

  def offsets(result) = result.found.map { |found| found.record.offset }

  def test_newest_first_page_after_page_every_message_once
    produce(430)
    pages = []
    rest = nil
    loop do
      result = look(rest:)
      pages << offsets(result)
      rest = result.rest or break
    end
    assert_equal 429.downto(0).to_a, pages.flatten
    assert_equal 50, pages.first.size
  end

  def test_newest_of_several_partitions
    produce(120)
    produce(70, partition: 1)
    assert_equal [*[0].product([*0...120]), *[1].product([*0...70])], every_page.sort
  end

  def test_every_message_once_although_their_times_are_in_no_order
    producer = Rdkafka::Config.new("bootstrap.servers": @broker.bootstrap_servers).producer
    order = Random.new(1)
    Array.new(130) { |i| producer.produce(topic: "t", partition: i % 2, payload: "1", timestamp: order.rand(1_700_000_000_000..1_700_000_009_999)) }
      .each(&:wait)
    producer.close
    @ends = {0 => 65, 1 => 65}
    assert_equal [0, 1].product([*0...65]), every_page.sort
  end

  # Large messages, or many partitions.
  def test_a_first_window_that_is_too_wide_is_made_narrower
    produce(150)
    seen = []
    rest = nil
    @application.config.max_messages = 5
    loop do
      result = look(max_bytes: 1_000, rest:)
      refute_empty result.found
      seen.concat(offsets(result))
      rest = result.rest or break
    end
    assert_equal 149.downto(0).to_a, seen
  end

  def test_a_condition_also_shows_what_cannot_be_decoded
    produce(20)
    result = look(where: "$.id > 15")
    assert_equal [19, 18, 17, 16, 14, 9, 4], offsets(result)
    assert_equal [20, 4, nil], [result.messages, result.undecodable, result.rest]
    assert_equal([4], result.found.filter_map { |found| found.record.offset if found.failure }.last(1))
  end

  def test_from_an_offset_on
    produce(100)
    result = look(from: "offset", at: "20", partition: 0)
    assert_equal [*20...70], offsets(result)
    assert_equal "0:70", result.rest
    assert_equal [*70...100], offsets(look(from: "offset", at: "20", partition: 0, rest: result.rest))
  end

  # An error's message may quote it: as that of Ruby's JSON does.
  def test_why_a_payload_is_not_decoded_is_hidden_with_it
    produce(5)
    route(->(payload) { raise KeyError, "secret #{payload}" })
    [true, false].each do |shown|
      pages = pages(authorize: ->(_, action, _) { shown || action == :read })
      ["/topics/t/messages", "/topics/t/0/1"].each do |path|
        body = pages.get(path).body
        assert_includes body, "KeyError"
        assert_equal shown, body.include?("secret"), path
      end
    end
    ["/topics/t/messages", "/topics/t/0/1"].each { |path| refute_includes pages(hide: ["$.id"]).get(path).body, "secret", path }
  end

  def test_a_key
    produce(30)
    assert_equal [28, 25, 22, 19, 16, 13, 10, 7, 4, 1], offsets(look(key: "k1"))
  end

  def test_what_a_form_cannot_mean
    produce(1)
    {{from: "offset"} => "say at which offset", {from: "offset", at: "x"} => "offset is a number", {from: "time", at: "x"} => "time is 10m",
     {from: "there"} => "from is one of", {rest: "x"} => "rest is PARTITION:OFFSET", {partition: 9} => "no partition 9",
     {where: "$.["} => "JSONPath $.[", {at: "10m"} => "from newest nothing is looked for at \"10m\"",
     {codec: "avro"} => "set SCHEMA_REGISTRY_URL in its environment", {codec: "x"} => "decode is one of"}.each do |form, text|
      error = assert_raises(Guildhall::ArgumentError, form.inspect) { look(**form) }
      assert_includes error.message, text
    end
  end

  CARD = "4111-1111"
  PLACES = ["/topics/t/messages", "/topics/t/0/0", "/topics/t/0/1", "/topics/t/0/2", "/topics/t/0/3"].freeze

  def send_cards
    send_messages({payload: %({"card":"#{CARD}","n":1.10,"id":7}), key: CARD, headers: {"auth" => CARD, "Source_Error_Message" => CARD}},
      {payload: %({"card":"#{CARD}")}, {payload: %("#{CARD}")}, {payload: "card=#{CARD}\xFF"})
  end

  def test_what_is_hidden_is_on_no_page_and_in_no_data
    send_cards
    [nil, Guildhall::JSON, Guildhall::JSON.lazy, ->(payload) { Guildhall::JSON.decode(payload) }].each do |deserializer|
      begin_application
      route(deserializer) if deserializer
      hiding = pages(hide: ["$.card", "key", "headers.AUTH"])
      PLACES.each do |path|
        [hiding.get(path), hiding.get(path, "HTTP_ACCEPT" => "application/json")].each do |response|
          assert_equal 200, response.status, response.body
          refute_includes response.body, CARD, path
        end
      end
      assert_equal [nil, nil, nil], [1, 2, 3].map { |offset| data(hiding, "/topics/t/0/#{offset}")["payload"] }
      assert_includes data(hiding, "/topics/t/0/1")["note"], "cannot be told apart"
      assert_equal ["[hidden]"] * 2, data(hiding, "/topics/t/0/0")["headers"].map { |header| header["value"] }
    end
    begin_application
    assert_equal %({\n  "card": "[hidden]",\n  "n": 1.10,\n  "id": 7\n}), data(pages(hide: ["$.card"]), "/topics/t/0/0")["payload"]
  end

  def test_what_is_hidden_cannot_be_searched
    send_cards
    hiding = pages(hide: ["$.card", "key"])
    {"where=$.card" => "You may not search in card", "key=#{CARD}" => "keys are hidden here", "where=$..card&codec=none" => nil}.each do |query, text|
      response = hiding.get("/topics/t/messages?#{Rack::Utils.build_query(Rack::Utils.parse_query(query))}")
      assert_equal text ? 403 : 200, response.status, query
      assert_includes response.body, text.to_s
      refute_includes response.body, CARD if query.start_with?("where")
    end
    found = ["$.id == 7", "$..[?@ == '#{CARD}']", "search($, '4111')"].map do |where|
      data(hiding, "/topics/t/messages?where=#{Rack::Utils.escape(where)}")["rows"].reject { |row| row["error"] }.map { |row| row["offset"] }
    end
    assert_equal [[0], [], []], found
    route(Guildhall::JSON)
    hiding = pages(hide: ["$.card"])
    assert_equal [403, 200], ["codec=msgpack", "codec=as+the+route"].map { |query| hiding.get("/topics/t/messages?#{query}").status }
  end

  def test_a_payload_is_downloaded_byte_for_byte
    send_cards
    response = pages.get("/topics/t/0/3/payload")
    assert_equal ["card=#{CARD}\xFF".b, "application/octet-stream", "no-store", %(attachment; filename="t-0-3.bin")],
      [response.body.b, *%w[content-type cache-control content-disposition].map { |name| response[name] }]
    assert_equal [400, 403, 403], [pages.get("/topics/t/0/9/payload"), pages(hide: "$.card").get("/topics/t/0/0/payload"),
                                   pages(authorize: ->(_, action, _) { action == :read }).get("/topics/t/0/0/payload")].map(&:status)
  end

  def test_a_payload_is_shown_as_it_was_written
    send_messages({payload: '{"b":1.10,"a":1,"a":12345678901234567890123,"c":"\u00e9"}'}, {payload: "[#{(["1"] * 3_000).join(",")}]"}, {payload: '"x" * 300_000' * 30_000})
    assert_equal [%({\n  "b": 1.10,\n  "a": 1,\n  "a": 12345678901234567890123,\n  "c": "\\u00e9"\n}), nil],
      data(pages, "/topics/t/0/0").values_at("payload", "note")
    cut = data(pages, "/topics/t/0/1")
    assert_equal [2_001, "These are its first 2000 values."], [cut["payload"].lines.size, cut["note"]]
    assert_equal [nil, "It is too large to be shown here."], data(pages, "/topics/t/0/2").values_at("payload", "note")
    assert_includes pages.get("/topics/t/0/2").body, %(href="/topics/t/0/2/payload" download)
  end

  # As of a registry that does not answer.
  def test_what_an_outage_keeps_from_being_decoded_is_shown_as_bytes_with_the_reason
    send_messages({payload: "\0\0\0\0\1abc"}, {payload: "\0\0\0\0\2abc"})
    require "guildhall/schema_registry"
    require "guildhall/avro"
    route(Guildhall::Avro::Confluent.new(Guildhall::SchemaRegistry.new("http://127.0.0.1:1")))
    ["", "?where=$.id"].each do |query|
      rows = data(pages, "/topics/t/messages#{query}")["rows"]
      assert_equal [1, 0], rows.map { |row| row["offset"] }
      rows.each { |row| assert_match(/Error: .*127\.0\.0\.1/, row["error"]) }
    end
    one = data(pages, "/topics/t/0/0")
    assert_equal ["\\u{0}\\u{0}\\u{0}\\u{0}\\u{1}abc", true], [one["payload"], one["error"].include?("127.0.0.1")]
  end
end
