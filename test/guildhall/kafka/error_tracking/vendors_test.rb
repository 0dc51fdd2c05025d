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
    require "guildhall/kafka/active_job"
    require "guildhall/kafka/testing"
    def equal(expected, actual) = expected == actual || abort("line #{caller_locations(1, 1).first.lineno}: expected #{expected.inspect}, got #{actual.inspect}")
    class OrdersConsumer < Guildhall::Kafka::Consumer
      def consume
        messages.each { |message| message.raw_payload == "bad" ? raise(KeyError, "no id") : produce_async(topic: "copies", payload: "x") }
      end
    end
    class WelcomeJob < ActiveJob::Base
      queue_as "mails"
      def perform(_name) = raise(KeyError, "no id")
    end
    ActiveJob::Base.logger = nil
    ActiveJob::Base.queue_adapter = :guildhall
    Guildhall::Kafka.config.kafka = {"bootstrap.servers": "127.0.0.1:1"}
    Guildhall::Kafka.config.group_id = "shop"
    Guildhall::Kafka.config.release = "v7"
    Guildhall::Kafka.routes do
      topic("orders") { consumer OrdersConsumer; dead_letter_queue topic: "dead", max_retries: 2 }
      active_job_topic("mails") { dead_letter_queue topic: "dead", max_retries: 2 }
    end
    def start(name) = Guildhall::Kafka::ErrorTracking.start(name)
    def deliver(*payloads, topic: "orders", **) = Guildhall::Kafka::Testing.topic(topic).deliver(*payloads, **)
    PLACE = {group: "shop", attempt: 1, release: "v7", partition: 0}
    ORDER = {**PLACE, handler: "OrdersConsumer#consume", type: "consumer.consume", topic: "orders", offset: 1, first_offset: 0, last_offset: 1,
             key: Digest::SHA256.hexdigest("k")[0, 16]}
    JOB = {**PLACE, handler: "WelcomeJob#perform", type: "consumer.perform", topic: "mails", offset: 0, first_offset: 0, last_offset: 0}

    # Each of these fails three times. The block answers what the tracker was told of until now.
    def check_reports
      told = -> { yield.map { |context| context.to_h.to_h { |name, value| [name.to_sym, value.to_s] } } }
      text = ->(context) { context.transform_values(&:to_s) }
      orders = deliver("good", "bad", key: "k")
      equal([1, true], [orders.dead_letters.size, orders.errors.size >= 3])
      equal([text.(ORDER)], told.call)
      equal(1, deliver(WelcomeJob.new("ada"), topic: "mails").dead_letters.size)
      equal([text.(ORDER), text.(JOB)], told.call)
      Guildhall::Kafka.config.error_reports = {attempts: true}
      deliver("bad")
      equal(%w[1 2 3], told.call.drop(2).map { |context| context[:attempt] })
      Guildhall::Kafka.config.error_reports = {}
      orders
    end
  RUBY

  def test_sentry
    vendor("sentry-ruby", <<~'RUBY')
      require "sentry-ruby"
      Sentry.init { |config| config.dsn = "http://1@localhost/1"; config.transport.transport_class = Sentry::DummyTransport; config.background_worker_threads = 0; config.traces_sample_rate = 1.0; config.sdk_logger = Logger.new(nil) }
      start(:sentry)
      transport = Sentry.get_current_client.transport
      events = -> { transport.envelopes.flat_map(&:items).map(&:payload).map { |one| one.transform_keys(&:to_sym) } }
      errors = -> { events.call.select { |one| one[:exception] } }
      orders = check_reports { errors.call.map { |one| one[:contexts].transform_keys(&:to_s)["kafka"] } }
      tags = {"topic" => "orders", "group" => "shop", "partition" => "0", "handler" => "OrdersConsumer#consume", "type" => "consumer.consume"}
      equal(tags, errors.call.first[:tags].transform_keys(&:to_s))
      equal(%w[OrdersConsumer#consume WelcomeJob#perform], errors.call.map { |one| one[:transaction] }.uniq)
      transactions = events.call.select { |one| one[:type] == "transaction" }
      equal(%w[OrdersConsumer#consume WelcomeJob#perform], transactions.map { |one| one[:transaction] }.uniq)
      equal(["internal_error", "ok"], transactions.map { |one| one[:contexts].transform_keys(&:to_s)["trace"].transform_keys(&:to_s)["status"] }.uniq.sort)
      trace, parent = orders.produced.first[:headers]["sentry-trace"].split("-")
      deliver("good", headers: orders.produced.first[:headers])
      last = events.call.last[:contexts].transform_keys(&:to_s)["trace"].transform_keys(&:to_s)
      equal([trace, parent], last.values_at("trace_id", "parent_span_id"))
    RUBY
  end

  def test_honeybadger
    vendor("honeybadger", <<~'RUBY')
      require "honeybadger/ruby"
      Honeybadger.configure { |config| config.api_key = "x"; config.backend = "test"; config.logger = Logger.new(nil) }
      start(:honeybadger)
      notices = -> { Honeybadger.flush && Honeybadger::Backend::Test.notifications[:notices] }
      check_reports { notices.call.map(&:context) }
      equal([%w[KeyError OrdersConsumer consume], %w[KeyError WelcomeJob perform]],
        notices.call.map { |one| [one.error_class, one.component, one.action] }.uniq)
    RUBY
  end

  # A broker's answer brings the account, without which its own headers are not written.
  def test_new_relic
    vendor("newrelic_rpm", <<~'RUBY', "NEW_RELIC_LICENSE_KEY" => "0" * 40, "NEW_RELIC_LOG" => File::NULL, "NEW_RELIC_DISTRIBUTED_TRACING_ENABLED" => "true")
      require "newrelic_rpm"
      require "new_relic/agent/agent"
      NewRelic::Agent.manual_start(monitor_mode: false, log_level: "fatal", sync_startup: false) rescue nil
      NewRelic::Agent.config.add_config_for_testing({account_id: "1", primary_application_id: "2", trusted_account_key: "1"})
      NewRelic::Agent.agent.define_singleton_method(:connected?) { true }
      start(:new_relic)
      noticed = []
      NewRelic::Agent.singleton_class.prepend(Module.new { define_method(:notice_error) { |error, options = {}| noticed << [error, options.dup, NewRelic::Agent::Tracer.current_transaction&.best_name]; super(error, options) } })
      orders = check_reports { noticed.map { |_, options, _| options[:custom_params] } }
      # Its own instrumentation of Active Job gives a job's transaction the second name.
      equal([[KeyError, "OtherTransaction/Background/OrdersConsumer/consume"],
             [KeyError, "OtherTransaction/Guildhall::Kafka::ActiveJob::QueueAdapter/WelcomeJob/execute"]],
        noticed.map { |error, _, name| [error.class, name] }.uniq)
      trace, parent = orders.produced.first[:headers].fetch("traceparent").split("-")[1, 2]
      seen = []
      OrdersConsumer.prepend(Module.new { define_method(:consume) { super().tap { seen << NewRelic::Agent::Tracer.current_transaction } } })
      deliver("good", headers: orders.produced.first[:headers])
      equal([trace, parent], [seen.first.trace_id, seen.first.distributed_tracer.trace_context_header_data.parent_id])
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
      data = []
      actions = []
      Appsignal::Transaction.prepend(Module.new do
        define_method(:add_error) { |error, **rest, &block| errors << error; super(error, **rest, &block) }
        define_method(:add_custom_data) { |more| data << more; super(more) }
        define_method(:set_action) { |name| actions << name; super(name) }
      end)
      start(:appsignal)
      check_reports { data.map { |one| one.fetch(:kafka) } }
      equal([KeyError] * 5, errors.map(&:class))
      handlers = %w[OrdersConsumer#consume WelcomeJob#perform]
      equal([handlers, handlers.map { |action| {namespace: "background", action:} }], [actions.uniq, seen.uniq])
    RUBY
  end

  # With data streams, which are counted by the way that a message has come.
  def test_datadog
    vendor("datadog", <<~'RUBY', "DD_TRACE_STARTUP_LOGS" => "false", "DD_INSTRUMENTATION_TELEMETRY_ENABLED" => "false", "DD_REMOTE_CONFIGURATION_ENABLED" => "false", "DD_DATA_STREAMS_ENABLED" => "true")
      require "datadog"
      WRITER = Class.new { attr_reader :spans; def write(trace) = (@spans ||= []).concat(trace.spans); def stop = nil; def flush(*) = true }.new
      Datadog.configure { |config| config.tracing.writer = WRITER; config.logger.level = Logger::FATAL }
      start(:datadog)
      failed = -> { WRITER.spans.select { |span| span.status == 1 } }
      orders = check_reports { failed.call.map { |span| span.meta.merge(span.metrics).select { |name, _| name.match?(/\Akafka\./) }.to_h { |name, value| [name.delete_prefix("kafka."), value.is_a?(Float) ? value.to_i : value] } } }
      equal(%w[OrdersConsumer#consume WelcomeJob#perform], WRITER.spans.map(&:resource).uniq)
      equal(["KeyError"], failed.call.map { |span| span.get_tag("error.type") }.uniq)
      headers = orders.produced.first[:headers]
      equal([], %w[dd-pathway-ctx-base64 traceparent] - headers.keys)
      ways = []
      Datadog::DataStreams.singleton_class.prepend(Module.new { define_method(:set_consume_checkpoint) { |**about, &block| ways << [about, block.call("dd-pathway-ctx-base64")]; super(**about, &block) } })
      before = WRITER.spans.size
      deliver("good", headers:)
      one = WRITER.spans[before]
      equal([WRITER.spans.first.id, 1], [one.parent_id, one.links.size])
      equal([[{type: "kafka", source: "orders", tags: {"group" => "shop"}}, headers["dd-pathway-ctx-base64"]]], ways)
      equal(true, one.get_tag("pathway.hash").to_i.positive?)
      deliver("good", "good", headers:)
      equal([0, 2], [WRITER.spans.last.parent_id, WRITER.spans.last.links.size])
      deliver("good")
      equal(3, ways.size)
    RUBY
  end

  private

  def vendor(gem, code, env = {})
    skip "set GUILDHALL_TRACKERS to a folder with the gem #{gem}" unless FOLDER && Dir["#{FOLDER}/gems/#{gem}-*"].any?

    assert_ruby("#{PRELUDE}#{code}", env:)
  end
end
