# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"
require "tmpdir"

class KafkaConfigTest < GuildhallTest
  class Handles < Guildhall::Kafka::Consumer
    def consume; end
  end

  class HandlesNothing < Guildhall::Kafka::Consumer; end

  def setup
    @application = Guildhall::Kafka::Application.new
    @application.config.kafka = {"bootstrap.servers": "localhost:1"}
  end

  def test_the_guide_has_the_tables
    require_relative "../../../tool/settings"
    SettingsGuide.pages.each do |file, text|
      assert_equal text, File.read(file), "run bin/rake settings"
      SettingsGuide::TABLES.fetch(File.basename(file)).each_value { |table| assert_includes text, table.to_markdown }
    end
  end

  def test_each_default_is_valid_and_of_this_application_alone
    other = Guildhall::Kafka::Config.new
    Guildhall::Kafka::Config.settings.each do |setting|
      value = other.public_send(setting.name)
      assert_nil setting.rule.problem(value), setting.name
      refute value.frozen? && [Hash, Array].include?(value.class), setting.name
    end
    other.metrics << :mine
    assert_empty Guildhall::Kafka::Config.new.metrics
  end

  def test_all_errors_of_settings_and_routes_are_reported_together
    @application.config.concurrency = 0
    @application.config.concurency = 3
    @application.config.shutdown_timeout = 90_000
    @application.config.max_bytes_in_flight = "many"
    @application.config.producer = {"compresion.codec": "zstd"}
    @application.config.kafka = {"bootstrap.server" => "x", "enable.auto.offset.store" => true, "session.timeout.ms": -1}
    @application.routes.draw do
      topic("no good name!") { consumer Handles }
      topic("orders") do
        consumer HandlesNothing
        deserialiser :x
        virtual_partitions partitioner: 3
        dead_letter_queue topic: "a b", max_retries: -1
        serializer 5
      end
      topc("x")
      pattern(/x/) { nil }
    end
    error = assert_raises(Guildhall::ConfigurationError) { @application.start }
    [
      "concurrency must be an Integer ≥ 1, not 0", "unknown setting concurency; did you mean concurrency?",
      "shutdown_timeout is in seconds: 90000 looks like milliseconds", "max_bytes_in_flight must be",
      'kafka needs "bootstrap.servers"', "did you mean bootstrap.servers?", "must not set enable.auto.offset.store",
      "session.timeout.ms", 'topic "no good name!": is not a valid topic name', "has no method consume", "did you mean deserializer",
      "virtual_partitions partitioner must be an object with `call`, not 3", "dead_letter_queue topic", "max_retries", "unknown setting topc; did you mean topic?",
      "topic /x/: needs a consumer", "did you mean compression.codec?", "serializer must be an object with `encode` or `call`, or nil, not 5"
    ].each { |text| assert_includes error.message, text }
    assert_equal :initialized, @application.state
  end

  def test_good_settings_have_no_errors
    @application.routes.draw do
      defaults { max_messages 10 }
      topic("a") { consumer Handles }
      consumer_group("others") { pattern(/\Ab-/) { consumer(Handles) && max_messages(20) } }
    end
    a, b = @application.validate!
    assert_equal ["a", "guildhall", 10], [a.name, a.group, a.max_messages]
    assert_equal ["others", 20, true, false], [b.group, b.max_messages, b.match?("b-1"), b.match?("ab-1")]
    assert_match(%r{^others +/\\Ab-/ +KafkaConfigTest::Handles}, @application.routes.to_s)
  end

  def test_a_topic_with_a_serializer_alone_is_produced_to
    @application.routes.draw do
      topic("a") { consumer Handles }
      topic("b") { serializer Guildhall::JSON }
    end
    assert_equal [true, false], @application.validate!.map(&:consumed?)
    assert_match(/^- +b +\(produced to\)$/, @application.routes.to_s)
    assert_equal ["a"], Guildhall::Kafka::Routing::RouteSelection.new.choose(@application.validate!).map(&:name)
  end

  def test_a_topic_twice_in_a_group_is_an_error
    @application.routes.draw { 2.times { topic("a") { consumer Handles } } }
    assert_includes assert_raises(Guildhall::ConfigurationError) { @application.validate! }.message, "routed 2 times"
  end

  def test_no_topic_is_an_error
    assert_includes assert_raises(Guildhall::ConfigurationError) { @application.validate! }.message, "no topic is routed"
    @application.config.outbox = true # its relay needs none
    assert_empty @application.validate!
    @application.config.outbox = false
  end

  def test_a_parallel_deserializer_has_to_be_shareable
    rules = [+"x"]
    deserializer = Object.new
    deserializer.instance_variable_set(:@rules, rules)
    def deserializer.call(bytes) = bytes
    @application.routes.draw do
      topic("a") do
        consumer Handles
        deserializer deserializer
        deserializing parallel: true
      end
    end
    assert_includes assert_raises(Guildhall::ConfigurationError) { @application.validate! }.message, "deserializer.@rules[0] is not"
  end

  def test_a_rebalance_must_not_wait_longer_than_polling_may_pause
    @application.routes.draw do
      topic("a") { consumer Handles }
      topic("b") do
        consumer Handles
        kafka("max.poll.interval.ms": "8000", "session.timeout.ms": 6_000)
      end
      topic("c") do
        consumer Handles
        kafka("max.poll.interval.ms": 20_000)
      end
    end
    @application.config.revocation_timeout = 8
    error = assert_raises(Guildhall::ConfigurationError) { @application.validate! }
    assert_includes error.message, "revocation_timeout (8 s) has to be shorter than max.poll.interval.ms (8000 ms)"
    assert_includes error.message, "kafka: `max.poll.interval.ms`must be >= `session.timeout.ms`"
    assert_equal 2, error.message.scan("  - ").size
  end

  def test_settings_that_librdkafka_refuses_together_are_errors_at_the_start
    @application.config.kafka = {"bootstrap.servers": "localhost:1", "fetch.max.bytes": 10_000, "message.max.bytes": 20_000}
    @application.config.producer = {"enable.idempotence": true, acks: 1}
    @application.routes.draw { topic("a") { consumer Handles } }
    assert_errors("kafka: `fetch.max.bytes` must be >= `message.max.bytes`",
      "producer: `acks` must be set to `all` when `enable.idempotence` is true")
  end

  OAUTH = {"bootstrap.servers": "localhost:1", "security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER"}.freeze
  private_constant :OAUTH

  # Whatever callback other libraries have set for tokens in this process.
  def test_oauth_without_anybody_who_fetches_tokens_is_an_error
    config = @application.config
    config.kafka = OAUTH
    @application.routes.draw { topic("a") { consumer Handles } }
    assert_errors("kafka: sasl.mechanism OAUTHBEARER needs tokens: set config.oauth_token to what brings them")
    error = assert_raises(Guildhall::ConfigurationError) { @application.producer }
    assert_includes error.message, "set config.oauth_token"
    config.kafka = {"bootstrap.servers": "localhost:1"}
    config.producer = OAUTH
    error = assert_raises(Guildhall::ConfigurationError) { @application.producer }
    assert_includes error.message, "producer: sasl.mechanism OAUTHBEARER needs tokens"
    config.oauth_token = -> { {} }
    assert_equal 1, @application.validate!.size
    config.producer = {}
    config.kafka = OAUTH
    assert_equal 1, @application.validate!.size
  end

  def test_oauth_token_that_nobody_needs_or_that_is_none
    config = @application.config
    config.oauth_token = -> { {} }
    @application.routes.draw { topic("a") { consumer Handles } }
    assert_errors("oauth_token is set, and no client asks for tokens")
    config.kafka = {**OAUTH, "sasl.oauthbearer.method": "oidc"}
    error = assert_raises(Guildhall::ConfigurationError) { @application.validate! }
    # Precompiled gems refuse oidc by itself.
    assert_match(/oidc and oauth_token exclude each other|sasl.oauthbearer.method" not supported/, error.message)
    config.kafka = {**OAUTH, "enable.sasl.oauthbearer.unsecure.jwt": true}
    error = assert_raises(Guildhall::ConfigurationError) { @application.validate! }
    assert_match(/enable.sasl.oauthbearer.unsecure.jwt true and oauth_token exclude each other/, error.message)
    config.kafka = OAUTH
    {"eyJMARKED.e30.MARKED" => "must be an object with `call`, not a String", ->(_one, _two) {} => "is called with 1 argument, and takes 2"}
      .each do |value, problem|
        config.oauth_token = value
        error = assert_raises(Guildhall::ConfigurationError) { @application.validate! }
        assert_includes error.message, "oauth_token #{problem}"
        refute_includes error.message, "MARKED"
      end
    [-> {}, ->(_client) {}, proc {}, proc { |_client| }, Object.new.tap { |one| def one.call = {} }, Object.new.tap { |one| def one.call(_client) = {} }]
      .each do |value|
        config.oauth_token = value
        assert_equal 1, @application.validate!.size
      end
  end

  def test_what_may_be_in_flight_is_enough_for_all_runners
    @application.routes.draw do
      topic("a") do
        consumer Handles
        max_bytes 2_000_000
      end
    end
    @application.config.max_bytes_in_flight = 31_999_999
    error = assert_raises(Guildhall::ConfigurationError) { @application.validate! }
    assert_includes error.message, "max_bytes_in_flight has to be at least 32000000, not 31999999"
    @application.config.max_bytes_in_flight = 32_000_000
    assert_equal 1, @application.validate!.size
  end

  def test_numbers_that_nothing_can_count
    @application.routes.draw do
      topic("a") do
        consumer Handles
        max_messages 10**30
        max_bytes 10**30
      end
    end
    %i[concurrency max_messages max_bytes max_bytes_in_flight].each { |name| @application.config.public_send("#{name}=", 10**30) }
    assert_errors("concurrency must be at most 10000, not 1000", "max_messages must be at most 2147483647, not 1000",
      "max_bytes must be at most 1099511627776, not 1000",
      "max_bytes_in_flight must be at most 1099511627776", 'topic "a": max_messages must be at most 2147483647',
      'topic "a": max_bytes must be at most 1099511627776')
  end

  def test_the_greatest_numbers_can_be_counted
    config = @application.config
    config.concurrency = 10_000
    config.max_messages = (2**31) - 1
    config.max_bytes = 2**40
    @application.routes.draw { topic("a") { consumer Handles } }
    assert @application.validate!
    backpressure = Guildhall::Kafka::Runtime::Backpressure.new(config, [])
    assert_operator backpressure.room.max, :<, 2**62
  end

  def test_the_group_comes_from_kafka_where_it_is_not_set
    assert_equal "guildhall", @application.config.group_id
    @application.config.kafka = {"group.id": "mine"}
    assert_equal "mine", @application.config.group_id
    @application.config.group_id = "ours"
    assert_equal "ours", @application.config.group_id
  end

  def test_what_looks_like_milliseconds_is_an_error_that_says_so
    {commit_interval: 5_000, shutdown_timeout: 60_000, pause_timeout: 1_000, pause_max_timeout: 30_000}.each do |name, value|
      @application.config.public_send("#{name}=", value)
    end
    @application.routes.draw do
      topic("a") do
        consumer Handles
        retries pause_timeout: 5_000, pause_max_timeout: 30_000
      end
    end
    assert_errors("commit_interval is in seconds: 5000 looks like milliseconds (write 5.0 for that, or 5000.0 if seconds are meant)",
      "shutdown_timeout is in seconds: 60000 looks", "pause_timeout is in seconds: 1000 looks", "pause_max_timeout is in seconds: 30000 looks",
      'topic "a": retries pause_timeout is in seconds: 5000 looks', 'topic "a": retries pause_max_timeout is in seconds: 30000 looks')
  end

  def test_durations_are_finite_and_a_float_is_taken_at_its_word
    @application.routes.draw { topic("a") { consumer Handles } }
    @application.config.shutdown_timeout = 900.0
    assert @application.validate!
    @application.config.shutdown_timeout = Float::NAN
    @application.config.pause_max_timeout = Float::INFINITY
    @application.config.max_consume_time = "5"
    @application.config.pause_timeout = -1
    @application.config.commit_interval = 0
    assert_errors("shutdown_timeout must be a finite number > 0 (seconds), not NaN", "pause_max_timeout must be a finite number > 0 (seconds), not Infinity",
      'max_consume_time must be a finite number > 0 (seconds), or nil, not "5"', "pause_timeout must be a finite number > 0 (seconds), not -1", "commit_interval must be a finite number > 0 (seconds), not 0")
  end

  def test_a_number_of_seconds_is_real
    @application.config.pause_timeout = @application.config.shutdown_timeout = Complex(1, 0)
    @application.routes.draw do
      topic("a") do
        consumer Handles
        retries pause_timeout: Complex(1, 0)
        delay Complex(1, 0)
      end
    end
    number = "must be a finite number > 0 (seconds)"
    assert_errors("pause_timeout #{number}, not (1+0i)", "shutdown_timeout #{number}, not (1+0i)",
      "topic \"a\": retries pause_timeout #{number}, or nil, not (1+0i)", "topic \"a\": delay seconds #{number}, not (1+0i)")
  end

  BAD_TEXTS = ["a\0b", "a\xff", "ab".encode("UTF-16LE"), "\xE9".dup.force_encoding("ISO-8859-1"), "\xff".b].freeze

  def test_settings_are_texts_that_librdkafka_takes_whole
    BAD_TEXTS.each do |bad|
      setup
      config = @application.config
      config.client_id = config.group_id = bad
      config.health = {port: 0, host: bad}
      config.kafka = {"bootstrap.servers" => "a:1", "client.rack" => bad, "sasl.password" => bad, bad => 1}
      config.producer = {"transactional.id": bad}
      @application.routes.draw { topic("a") { consumer(Handles) && kafka("client.rack": bad) } }
      name = "must be a String of UTF-8 that is not blank, without NUL bytes, not"
      text = "must be a String of UTF-8 without NUL bytes, not"
      assert_errors("client_id #{name} #{bad.inspect}", "group_id #{name} #{bad.inspect}", "health host #{text} #{bad.inspect}",
        "kafka: client.rack #{text} #{bad.inspect}", "kafka: sasl.password #{text} a String",
        "kafka: the name of a setting #{text} #{bad.inspect}", "producer: transactional.id #{text} #{bad.inspect}",
        "topic \"a\" kafka: client.rack #{text} #{bad.inspect}")
    end
  end

  def test_names_in_routes_are_texts
    BAD_TEXTS.each do |bad|
      setup
      @application.routes.draw do
        consumer_group(bad) { topic("x") { consumer Handles } }
        delay_topics 5, prefix: bad
        schedule(topic: bad) do
          task(bad, "* * * * *") { nil }
          task("t", bad) { nil }
        end
        topic(bad) { consumer Handles }
        topic("a") do
          consumer Handles
          dead_letter_queue topic: bad
          retry_topics 5, prefix: bad
          kafka(bad => 1)
        end
      end
      message = assert_raises(Guildhall::ConfigurationError, bad.inspect) { @application.validate! }.message
      ["consumer_group needs a name, not", "delay_topics prefix must be", "name must be a name", "cron must be a String of UTF-8",
       "topic #{bad.inspect}: is not a valid", "dead_letter_queue topic must be", "retry_topics prefix must be", 'topic "a" kafka:']
        .each { |text| assert_includes message, text }
    end
  end

  def test_what_is_named_after_a_bad_group_is_no_further_error
    @application.config.group_id = "ab".encode("UTF-16LE")
    @application.routes.draw do
      multiplexing 0
      topic("a") { consumer Handles }
    end
    assert_errors("group_id must be a String of UTF-8", "group ab: multiplexing must be")
  end

  def test_ranges_without_an_end_are_errors
    [1.., ..1, 1..Float::INFINITY, loop].each do |endless|
      setup
      @application.config.middleware = endless
      @application.config.kafka = {"bootstrap.servers": endless}
      @application.routes.draw do
        multiplexing endless
        topic("a") do
          consumer Handles
          dead_letter_queue topic: "dead"
          retries transient: endless, non_retryable: endless
          retry_topics endless
          assign partitions: endless
        end
      end
      message = assert_raises(Guildhall::ConfigurationError) { @application.validate! }.message
      ["middleware must be an Array", "bootstrap.servers takes one String", "multiplexing must be", "retries transient takes classes of errors, not",
       "retries non_retryable takes classes of errors, not", "retry_topics delays must be", "assign partitions must be"]
        .each { |text| assert_includes message, text }
    end
  end

  def test_retries_are_checked
    @application.routes.draw do
      topic("a") do
        consumer Handles
        retries pause_timeout: "5", contention_limit: 0, non_retryable: "ArgumentError", transient: [IOError, :x]
      end
      topic("b") do
        consumer Handles
        retries pause_timeout: -1, max: 3, non_retryable: IOError, transient: [IOError]
      end
      topic("c") do
        consumer Handles
        retries pause_timeout: 50, pause_max_timeout: 10
      end
    end
    assert_errors('topic "a": retries pause_timeout must be a finite number > 0 (seconds), or nil, not "5"', 'topic "a": retries contention_limit must be an Integer ≥ 1, not 0',
      'topic "a": retries non_retryable takes classes of errors, not "ArgumentError"', 'topic "a": retries transient takes classes of errors, not :x',
      'topic "b": retries pause_timeout must be a finite number > 0 (seconds), or nil, not -1', 'topic "b": retries: unknown keyword max',
      *%w[a b].map { |name| "topic #{name.inspect}: retries non_retryable needs a dead_letter_queue" },
      'topic "b": retries has IOError as non_retryable and as transient', 'topic "c": retries pause_timeout (50 s) must not be longer')
  end

  # `transient: [defined?(Redis) && Redis::BaseError]`
  def test_a_class_that_is_not_there_is_no_class_of_errors
    @application.routes.draw do
      topic("a") do
        consumer Handles
        dead_letter_queue topic: "dead"
        retries transient: [nil], non_retryable: [false]
      end
    end
    assert_errors("retries transient takes classes of errors, not nil", "retries non_retryable takes classes of errors, not false")
  end

  def test_settings_that_say_the_opposite_of_each_other
    @application.routes.draw do
      topic("a") do
        consumer Handles
        initial_offset :latest
        kafka("auto.offset.reset": "earliest")
      end
      topic("b") do
        consumer Handles
        dead_letter_queue topic: "dead"
        retries transient: [IOError, StandardError]
      end
    end
    assert_errors('topic "a": has initial_offset and kafka auto.offset.reset', 'topic "b": retries transient: StandardError takes every error for an outage')
  end

  def test_what_would_raise_for_every_message_is_an_error
    @application.routes.draw do
      topic("a") do
        consumer Class.new(Handles) { def initialize(store) = super() && @store = store }
        dead_letter_queue topic: "dead", strategy: ->(_errors) { :skip }
        retries non_retryable: [String, Comparable]
      end
      topic("b") do
        consumer Class.new(Handles) { def consume(_messages) = nil }
        virtual_partitions partitioner: -> { 1 }
      end
      topic("c") do
        consumer Class.new(Handles) { def initialize(store = nil, **) = super() && @store = store }
        dead_letter_queue topic: "dead", strategy: proc { :skip }
        virtual_partitions partitioner: :key.to_proc
      end
    end
    assert_errors("initialize is called with 0 arguments, and takes 1",
      'topic "a": dead_letter_queue strategy is called with 2 arguments, and takes 1', "retries non_retryable takes classes of errors, not String",
      "consume is called with 0 arguments, and takes 1",
      'topic "b": virtual_partitions partitioner is called with 1 argument, and takes 0')
  end

  def test_a_topics_pause_fits_the_applications
    @application.routes.draw do
      topic("a") do
        consumer Handles
        retries pause_timeout: 100
      end
    end
    assert_errors('topic "a": retries pause_timeout (100 s) must not be longer than pause_max_timeout (30 s); what the topic does not set')
  end

  def test_a_producer_that_would_lose_dead_letters_is_an_error
    @application.config.producer = {acks: 0, "enable.idempotence": false}
    @application.routes.draw do
      topic("a") do
        consumer Handles
        dead_letter_queue topic: "dead"
      end
    end
    assert_errors("producer acks 0 loses dead letters")
    @application.config.producer = {"transactional.id": "x", acks: 1}
    assert_errors("producer: `acks` must be set to `all` when `enable.idempotence` is true")
  end

  def test_settings_of_librdkafka_that_have_no_default_are_suggested_too
    @application.config.kafka = {"bootstrap.servers": "a:1", "sasl.passwrd": "x", "auto.ofset.reset": "earliest", "group.instnce.id": "a", "session.timeout.ms": "x"}
    @application.routes.draw { topic("a") { consumer Handles } }
    assert_errors("did you mean sasl.password?", "did you mean auto.offset.reset?", "did you mean group.instance.id?", 'property "session.timeout.ms"')
    assert_operator Guildhall::Kafka::Broker::Librdkafka.property_names.size, :>, 150
  end

  def test_names_that_kafka_refuses_are_errors
    @application.routes.draw do
      [".", "..", "t\xff"].each { |name| topic(name) { consumer Handles } }
      topic("t") { consumer(Handles) && dead_letter_queue(topic: ".") }
    end
    assert_errors('topic ".": is not a valid', 'topic "..": is not a valid', 'topic "t\\xFF": is not a valid', 'dead_letter_queue topic must be the name of a topic, or false, not "."')
  end

  def test_a_frozen_configuration_has_frozen_lists
    config = @application.config
    config.health = {port: 0}
    config.metrics = metrics = []
    config.freeze
    lists = Guildhall::Kafka::Config.settings.names.select { |name| [Array, Hash].include?(config.public_send(name).class) }
    assert_includes lists, :producer_middleware
    assert_empty(lists.reject { |name| config.public_send(name).frozen? })
    refute_predicate metrics, :frozen?
  end

  def test_settings_are_not_shown_where_the_configuration_is
    @application.config.kafka[:"sasl.password"] = "hunter2"
    @application.config.freeze
    error = assert_raises(FrozenError) { @application.config.concurrency = 3 }
    assert_includes error.message, "#<Guildhall::Kafka::Config of group guildhall>"
    refute_includes @application.inspect, "hunter2"
  end

  def test_names_and_values_that_mean_nothing_are_errors
    @application.config.kafka = {"bootstrap.servers": ["a:1", "b:2"]}
    @application.config.logger = Class.new { def add(*); end && def info(*); end }.new
    @application.routes.draw { consumer_group("") { topic("a") { consumer Handles } } }
    assert_errors('kafka: bootstrap.servers takes one String, with commas, not ["a:1", "b:2"]', "logger must be a Logger, or nil", "consumer_group needs a name")
  end

  def test_transient_errors_are_the_routes
    @application.routes.draw do
      topic("a") { consumer Handles }
      topic("b") do
        consumer Handles
        retries transient: IOError
      end
    end
    assert_equal [[], [IOError]], @application.validate!.map { |topic| topic.retries.transient }
  end

  def test_dead_letter_queues_are_checked
    @application.routes.draw do
      topic("a") do
        consumer Handles
        dead_letter_queue topic: "a", max_retry: 3, independent: "yes", dispatch_undecodable: "no", strategy: :two
      end
      topic("b") do
        consumer Handles
        dead_letter_queue max_retries: 3
        delivery :at_most_once
        manual_offset_management true
      end
      pattern(/\Ac/) do
        consumer Handles
        dead_letter_queue topic: "c.dead"
      end
    end
    assert_errors('topic "a": its dead letters come back to it (a → a)',
      'topic "a": dead_letter_queue: unknown keyword max_retry; did you mean max_retries?', 'topic "a": dead_letter_queue independent must be',
      'topic "a": dead_letter_queue dispatch_undecodable must be true or false, not "no"', 'topic "a": dead_letter_queue strategy must be',
      'topic "b": dead_letter_queue topic must be the name of a topic, or false, not nil',
      'topic "b": delivery :at_most_once cannot have a dead_letter_queue', 'topic "b": delivery :at_most_once cannot have manual_offset_management',
      'topic /\\Ac/: its dead letters come back to it (/\\Ac/ → c.dead)')
  end

  def test_dead_letters_that_come_back_are_an_error_however_long_their_way
    @application.routes.draw do
      {"a" => "b", "b" => "c", "c" => "a", "d" => "a"}.each do |name, dead|
        topic(name) do
          consumer Handles
          dead_letter_queue topic: dead
        end
      end
      consumer_group("other") do
        topic("e") do
          consumer Handles
          dead_letter_queue topic: "f.dead"
        end
      end
      pattern(/\Af/) do
        consumer Handles
        dead_letter_queue topic: "e"
      end
    end
    assert_errors('topic "a": its dead letters come back to it (a → b → c → a): give one of these',
      'topic "e": its dead letters come back to it (e → f.dead → e)')
  end

  def test_dead_letters_that_end_somewhere_are_none
    @application.routes.draw do
      {"a" => "b", "b" => "c", "c" => false}.each do |name, dead|
        topic(name) do
          consumer Handles
          dead_letter_queue topic: dead
        end
      end
    end
    assert_equal 3, @application.validate!.size
  end

  def test_a_pattern_may_match_its_dead_letter_topic_where_that_has_a_route_of_its_own
    @application.routes.draw do
      pattern(/\Ac/) do
        consumer Handles
        dead_letter_queue topic: "c.dead"
      end
      topic("c.dead") { consumer Handles }
    end
    assert_equal 2, @application.validate!.size
  end

  def test_wrong_arguments_of_the_routes_are_listed_like_all_other_errors
    @application.config.concurency = 3
    @application.routes.draw do
      topic("a") do
        consumer Handles
        virtual_partitions max: 3
        deserializing foo: 1, paralel: true
        deserializers value: 3
      end
      topic("b") { max_messages }
      consumer_group "g"
    end
    assert_errors("unknown setting concurency; did you mean concurrency?",
      'topic "a": virtual_partitions partitioner must be an object with `call`, not nil', 'topic "a": deserializing: unknown keyword foo',
      'topic "a": deserializing: unknown keyword paralel; did you mean parallel?', 'topic "a": deserializers: unknown keyword value',
      'topic "b": max_messages: wrong number of arguments', 'consumer_group "g" needs a block')
  end

  def test_a_setting_that_is_somewhere_else
    config = @application.config
    assert_match(/\Aunknown setting pause; did you mean pause_timeout or pause_max_timeout\? \(/, assert_raises(Guildhall::UnknownSettingError) { config.pause }.message)
    route = 'unknown setting initial_offset: it belongs into a route, topic("orders") { initial_offset … }, or for all of them into defaults { … }'
    assert_equal "#{route} (#{__FILE__}:#{__LINE__})", assert_raises(Guildhall::UnknownSettingError) { config.initial_offset }.message
    config.initial_offset = "earliest"
    assert_includes assert_raises(Guildhall::ConfigurationError) { config.validate! }.message, "- #{route}"
  end

  def test_a_setting_of_karafkas_says_what_to_use_instead
    @application.config.max_wait_time = 5
    assert_match(/\A1 error .*max_wait_time has no counterpart: remove it/m, assert_raises(Guildhall::ConfigurationError) { @application.config.validate! }.message)
  end

  def test_what_belongs_to_the_application_cannot_be_set_for_a_topic
    @application.config.kafka = {"bootstrap.servers": "localhost:1", "group.id": "other"}
    @application.config.group_id = "mine"
    @application.routes.draw do
      topic("a") do
        consumer Handles
        kafka("bootstrap.servers": "other:1", "group.id": "zzz")
      end
    end
    assert_errors('topic "a": kafka must not set bootstrap.servers: that is config.kafka', 'topic "a": kafka must not set group.id: that is consumer_group',
      "group_id (mine) and kafka group.id (other) differ")
  end

  def test_names_that_are_none_are_errors
    @application.routes.draw do
      consumer_group([:a]) { topic("a") { consumer Handles } }
      topic("b") do
        consumer Handles
        kafka(nil => 1)
      end
    end
    assert_errors("consumer_group needs a name, not [:a]", 'topic "b" kafka: No such configuration property: ""')
  end

  def test_only_some_groups_or_topics
    @application.routes.draw { topic("a") { consumer Handles } }
    error = assert_raises(Guildhall::ConfigurationError) { @application.start(topics: ["b"], groups: ["nobody"]) }
    assert_includes error.message, "group nobody, topic b"
  end

  private

  def assert_errors(*texts)
    message = assert_raises(Guildhall::ConfigurationError) { @application.validate! }.message
    texts.each { |text| assert_includes message, text }
    assert_equal texts.size, message.scan(/^  - /).size, message
  end
end
