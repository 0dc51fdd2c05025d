# frozen_string_literal: true

require "test_helper"
require "guildhall/web"
require "guildhall/kafka/testing"
require "rack/mock_request"

# Whatever stands in messages: nothing of it does anything in a browser, and no page grows with it. On the embedded broker.
class WebForeignTest < GuildhallTest
  Web = Guildhall::Web
  Topics = Guildhall::Kafka::Admin::Topics
  PIECES = ["<script>alert(1)</script>", "\"'><img src=x onerror=alert(1)>", "\u202eevil\u2066", "\0\a\e[31m\x7f", "\xFF\xFE\xC3".b, "\u{1F469}\u200D\u{1F4BB}", "&amp;",
            "{\"a\":[1.0e5,{\"<b>\":\"</pre>\"}]}", "{\"", "\\u202e\\u0000", "ünï\r\n\t", "javascript:alert(1)", "]]>", "<!--", "\u2028"].freeze
  PAGE_BYTES = 3_000_000

  def setup
    @broker = Guildhall::Kafka::Testing::EmbeddedBroker.start
    @broker.create_topic("t", partitions: 1)
  end

  def teardown
    @clusters.to_a.each(&:close)
    @broker.stop
  end

  def pages(count, hide: [])
    application = Guildhall::Kafka::Application.new
    application.config.kafka = {"bootstrap.servers": @broker.bootstrap_servers}
    application.config.logger = nil
    partition = Topics::Partition.new(number: 0, leader: 1, replicas: [1], in_sync: [1], offsets: 0...count)
    topic = Topics::Topic.new(name: "t", id: nil, internal: false, partitions: [partition])
    cluster = Web::Cluster.new(application)
    (@clusters ||= []) << cluster
    cluster.define_singleton_method(:topic) { |_| topic }
    web = Web.new(application:, authorize: ->(*) { true }, hide:)
    web.define_singleton_method(:cluster) { cluster }
    Rack::MockRequest.new(web)
  end

  def send_all(messages)
    producer = Rdkafka::Config.new("bootstrap.servers": @broker.bootstrap_servers, "message.max.bytes": 100_000_000).producer
    messages.map { |message| producer.produce(topic: "t", partition: 0, **message) }.each(&:wait)
  ensure
    producer.close
  end

  # @return [String] its body
  def check(pages, path)
    response = pages.get(path)
    assert_equal 200, response.status, response.body
    body = response.body
    assert_operator body.bytesize, :<, PAGE_BYTES, path
    assert_predicate body, :valid_encoding?
    refute_match(/<script>|<img|<b>|[\0\a\e\x7f\u202a-\u202e\u2066-\u2069]/, body, path)
    assert_equal 1, body.scan("</html>").size
    data = pages.get(path, "HTTP_ACCEPT" => "application/json")
    assert_operator data.body.bytesize, :<, PAGE_BYTES, path
    JSON.parse(data.body)
  end

  def test_strange_names_keys_headers_and_payloads
    order = Random.new(7)
    text = -> { Array.new(order.rand(1..4)) { PIECES.sample(random: order).b }.join }
    messages = Array.new(60) { {key: text.call, payload: text.call, headers: {text.call.delete("\0") => text.call, "x" => [text.call, text.call]}} }
    send_all(messages)
    [[], ["$..a", "key"]].each do |hide|
      pages = pages(messages.size, hide:)
      strange = Rack::Utils.escape(PIECES.first(3).join)
      check(pages, "/topics/t/messages")
      check(pages, "/topics/t/messages?where=#{Rack::Utils.escape("$.x == '#{PIECES[1].tr("'", "")}'")}")
      assert_equal 0, pages.get("/topics/t/messages?key=#{strange}").body.scan("<script>alert").size # which the form has again
      20.times { |offset| check(pages, "/topics/t/0/#{offset}") }
      %W[/topics/#{strange}/0/1/payload /groups/#{strange} /topics/t/messages?at=#{strange} /topics/t/messages?codec=#{strange}].each do |path|
        refute_includes pages.get(path).body, "<script>alert", path
      end
    end
  end

  # In all no more than 5 MB, which is what the embedded broker keeps; test/integration/scenarios/web_explorer.rb has 20 MB.
  def test_what_is_large
    headers = Array.new(300) { |number| ["h#{number}", "\0" * 3_000] }.to_h
    send_all([{payload: "x" * 2_000_000}, {payload: "[#{"1," * 200_000}1]"}, {payload: "\0" * 250_000}, {payload: "{\"a\":\"#{"<" * 250_000}\"}"},
              {payload: "[" * 90 + "1," * 3_000 + "1" + "]" * 90}, {payload: "1", key: "k" * 500_000, headers:}, {payload: "[" * 200_000}, {payload: "\xFF".b * 250_000}])
    before = nil
    [[], ["$..a"]].each do |hide|
      pages = pages(8, hide:)
      ["/topics/t/messages", *("/topics/t/messages?where=$.a" if hide.empty?), *Array.new(8) { |offset| "/topics/t/0/#{offset}" }]
        .each { |path| check(pages, path) }
      GC.start
      before ||= memory
    end
    10.times { check(pages(8), "/topics/t/messages") }
    GC.start
    assert_operator memory - before, :<, 150_000, "KB more after further pages"
    assert_equal 2_000_000, pages(8).get("/topics/t/0/0/payload").body.bytesize
  end

  def memory = File.read("/proc/self/status")[/VmRSS:\s+(\d+)/, 1].to_i
end
