# frozen_string_literal: true

require "test_helper"

# The vendors' own gems, with their test transports, each in a process of its own: they change Ruby's classes, or start threads. They are
# no gems of the bundle: GUILDHALL_TRACKERS names a folder that has them.
#
#     gem install -i /tmp/trackers sentry-ruby honeybadger appsignal newrelic_rpm datadog
#     GUILDHALL_TRACKERS=/tmp/trackers bin/test test/guildhall/kafka/error_tracking/vendors_test.rb
class VendorsTest < GuildhallTest
  FOLDER = ENV.fetch("GUILDHALL_TRACKERS", nil)
  PRELUDE = <<~'RUBY'
    Warning[:experimental] = false
    $VERBOSE = nil # the vendors' files warn
    folder = ENV.fetch("GUILDHALL_TRACKERS")
    $LOAD_PATH.concat(Dir["#{folder}/gems/*/lib"] + Dir["#{folder}/extensions/*/*/*"])
    require "guildhall/kafka"
    require "guildhall/kafka/testing"
    def equal(expected, actual) = expected == actual || abort("line #{caller_locations(1, 1).first.lineno}: expected #{expected.inspect}, got #{actual.inspect}")
    class OrdersConsumer < Guildhall::Kafka::Consumer
      def consume
        messages.each { |message| message.raw_payload == "bad" ? raise(KeyError, "no id") : produce_async(topic: "copies", payload: "x") }
      end
    end
    Guildhall::Kafka.config.kafka = {"bootstrap.servers": "127.0.0.1:1"}
    Guildhall::Kafka.config.group_id = "shop"
    Guildhall::Kafka.config.release = "v7"
    Guildhall::Kafka.routes { topic("orders") { consumer OrdersConsumer; dead_letter_queue topic: "dead", max_retries: 2 } }
    def start(name) = Guildhall::Kafka::ErrorTracking.start(name)
    def deliver(*payloads, **) = Guildhall::Kafka::Testing.topic("orders").deliver(*payloads, **)
    HASH = Digest::SHA256.hexdigest("k")[0, 16]
  RUBY

  def test_sentry
    vendor("sentry-ruby", <<~'RUBY')
      require "sentry-ruby"
      Sentry.init { |config| config.dsn = "http://1@localhost/1"; config.transport.transport_class = Sentry::DummyTransport; config.background_worker_threads = 0; config.traces_sample_rate = 1.0; config.sdk_logger = Logger.new(nil) }
      start(:sentry)
      orders = deliver("good", "bad", key: "k")
      transport = Sentry.get_current_client.transport
      events = transport.envelopes.flat_map(&:items).map(&:payload).map { |one| one.transform_keys(&:to_sym) }
      errors = events.select { |one| one[:exception] }
      text = errors.first.to_s
      equal([], ["no id", "KeyError", "orders", "shop", "v7", HASH, "OrdersConsumer#consume"].reject { |part| text.include?(part) })
      equal({"topic" => "orders", "group" => "shop", "partition" => "0", "handler" => "OrdersConsumer#consume", "type" => "consumer.consume"}, errors.first[:tags].transform_keys(&:to_s))
      transactions = events.select { |one| one[:type] == "transaction" }
      equal(["OrdersConsumer#consume"], transactions.map { |one| one[:transaction] }.uniq)
      equal(orders.errors.size, transactions.count { |one| one[:contexts].to_s.include?("internal_error") })
      trace = orders.produced.first[:headers]["sentry-trace"]
      deliver("good", headers: {"sentry-trace" => trace})
      last = transport.envelopes.last.items.last.payload
      equal(true, last.to_s.include?(trace.split("-").first))
    RUBY
  end

  def test_honeybadger
    vendor("honeybadger", <<~'RUBY')
      require "honeybadger/ruby"
      Honeybadger.configure { |config| config.api_key = "x"; config.backend = "test"; config.logger = Logger.new(nil) }
      start(:honeybadger)
      deliver("good", "bad", key: "k")
      Honeybadger.flush
      notices = Honeybadger::Backend::Test.notifications[:notices]
      equal(1, notices.size)
      equal(["KeyError", "OrdersConsumer", "consume", "orders", 1, HASH, "v7"],
        [notices.first.error_class, notices.first.component, notices.first.action, *notices.first.context.values_at(:topic, :offset, :key, :release)])
    RUBY
  end

  def test_new_relic
    vendor("newrelic_rpm", <<~'RUBY', "NEW_RELIC_LICENSE_KEY" => "0" * 40, "NEW_RELIC_LOG" => File::NULL, "NEW_RELIC_DISTRIBUTED_TRACING_ENABLED" => "true")
      require "newrelic_rpm"
      require "new_relic/agent/agent"
      NewRelic::Agent.manual_start(monitor_mode: false, log_level: "fatal", sync_startup: false) rescue nil
      start(:new_relic)
      noticed = []
      NewRelic::Agent.singleton_class.prepend(Module.new { define_method(:notice_error) { |error, options = {}| noticed << [error, options.dup, NewRelic::Agent::Tracer.current_transaction&.best_name]; super(error, options) } })
      orders = deliver("good", "bad", key: "k")
      equal([[KeyError, "orders", 1, HASH, "OtherTransaction/Background/OrdersConsumer/consume"]],
        noticed.map { |error, options, name| [error.class, *options[:custom_params].values_at(:topic, :offset, :key), name] })
      equal(1, orders.dead_letters.size)
    RUBY
  end

  def test_appsignal
    vendor("appsignal", <<~'RUBY', "APPSIGNAL_PUSH_API_KEY" => "x", "APPSIGNAL_ACTIVE" => "true", "APPSIGNAL_APP_NAME" => "shop", "APPSIGNAL_APP_ENV" => "test")
      require "appsignal"
      seen = []
      Appsignal.singleton_class.prepend(Module.new do
        define_method(:active?) { true }
        define_method(:monitor) { |**about, &block| seen << about; super(**about, &block) }
      end)
      errors = []
      Appsignal::Transaction.prepend(Module.new { define_method(:add_error) { |error, **rest, &block| errors << error; super(error, **rest, &block) } })
      start(:appsignal)
      orders = deliver("good", "bad", key: "k")
      equal([[KeyError], 1], [errors.map(&:class), orders.dead_letters.size])
      equal([{namespace: "background", action: "OrdersConsumer#consume"}], seen.uniq)
    RUBY
  end

  def test_datadog
    vendor("datadog", <<~'RUBY', "DD_TRACE_STARTUP_LOGS" => "false", "DD_INSTRUMENTATION_TELEMETRY_ENABLED" => "false", "DD_REMOTE_CONFIGURATION_ENABLED" => "false")
      require "datadog"
      WRITER = Class.new { attr_reader :spans; def write(trace) = (@spans ||= []).concat(trace.spans); def stop = nil; def flush(*) = true }.new
      Datadog.configure { |config| config.tracing.writer = WRITER; config.logger.level = Logger::FATAL }
      start(:datadog)
      orders = deliver("good", "bad", key: "k")
      equal(["OrdersConsumer#consume"], WRITER.spans.map(&:resource).uniq)
      failed = WRITER.spans.select { |span| span.status == 1 }
      equal([["KeyError", "orders", "1", HASH, "v7"]], failed.map { |span| [span.get_tag("error.type"), *%w[topic offset key release].map { |name| span.get_tag("kafka.#{name}") }] })
      headers = orders.produced.first[:headers]
      equal(true, headers.key?("traceparent"))
      before = WRITER.spans.size
      deliver("good", headers:)
      one = WRITER.spans[before]
      equal([WRITER.spans.first.id, 1], [one.parent_id, one.links.size])
      deliver("good", "good", headers:)
      equal([0, 2], [WRITER.spans.last.parent_id, WRITER.spans.last.links.size])
    RUBY
  end

  private

  def vendor(gem, code, env = {})
    skip "set GUILDHALL_TRACKERS to a folder with the gem #{gem}" unless FOLDER && Dir["#{FOLDER}/gems/#{gem}-*"].any?

    assert_ruby("#{PRELUDE}#{code}", env:)
  end
end
