# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"
require "guildhall/cli"
require "json"
require "psych"

# Settings of a topic that exclude each other, or mean nothing.
class KafkaRoutingChecksTest < GuildhallTest
  class Handles < Guildhall::Kafka::Consumer
    def consume; end
  end

  def setup
    @application = Guildhall::Kafka::Application.new
    @application.config.kafka = {"bootstrap.servers": "localhost:1"}
  end

  def errors(name = "t", &block)
    @application.routes.draw do
      topic(name) do
        consumer Handles
        instance_eval(&block)
      end
    end
    error = assert_raises(Guildhall::ConfigurationError) { @application.validate! }
    error.message.lines(chomp: true).drop(1).map { |line| line.delete_prefix("  - ").delete_prefix("topic #{name.inspect}: ") }
  end

  def test_what_is_good_is_printed
    @application.routes.draw do
      topic("a") do
        consumer Handles
        transactional
      end
      topic("b") do
        consumer Handles
        assign partitions: {0 => :all, 1 => -10, 2 => Time.now, 3 => 42, 4 => :latest}
      end
    end
    assert_equal 2, @application.validate!.size
    assert_equal ["", "transactional", "partitions 0, 1, 2, 3, 4 without a group"], @application.routes.to_s.lines(chomp: true).map { |line| line[/Handles +(.*)/, 1].to_s }
  end

  # Libraries that decode by another method.
  def test_a_module_that_is_no_codec_names_the_one_that_is
    all = errors("t") do
      deserializers payload: JSON, key: Psych, headers: 7
      serializer JSON
      deserialiser JSON
    end
    assert_equal ["deserializers headers must be a codec, or another object with `call`, or nil, not 7",
                  "deserializers key must be a codec, or another object with `call`, not Psych; did you mean Guildhall::YAML?",
                  "deserializers payload must be a codec, or another object with `call`, not JSON; did you mean Guildhall::JSON.lazy?",
                  "serializer must be an object with `encode` or `call`, not JSON; did you mean Guildhall::JSON?",
                  "unknown setting deserialiser; did you mean deserializer?"], all.sort
  end

  # As Karafka's deserializers do.
  class TakesMessage
    def call(message) = message.raw_payload
  end

  def test_a_deserializer_that_takes_a_message
    assert_match(/the deserializer .*TakesMessage.* seems to take a message, as Karafka's do; here it gets bytes: call\(bytes\) or call\(bytes, metadata\)/,
      errors { deserializer TakesMessage.new.freeze }.first)
    assert_equal 1, errors("u") { deserializer ->(message) { message } }.grep(/seems to take a message/).size # still the first one alone
  end

  def test_a_topic_that_is_not_consumed
    assert_equal ["unknown setting active: a topic without a consumer is not consumed; leave out active, or the consumer"], errors { active false }
  end

  def test_what_is_no_deserializer
    assert_equal ["deserializers payload must be a codec, or another object with `call`, or nil, not 5"], errors { deserializers payload: 5 }
    assert_equal ["deserializer must be a codec, or another object with `call`, or nil, not 5"], errors("u") { deserializer 5 }.grep(/not 5/).last(1)
  end

  def test_transactional_excludes
    assert_equal ["virtual_partitions cannot be transactional: a partition has one transaction at a time",
                  "delivery :at_most_once cannot be transactional: offsets are committed before consume is called",
                  "virtual_partitions cannot keep delivery :at_most_once"].sort,
      errors { transactional; delivery :at_most_once; virtual_partitions partitioner: ->(message) { message.key } }.sort # rubocop:disable Style/Semicolon
  end

  def test_ordering_by_key_excludes
    assert_equal ["ordering :key cannot have retry_topics: a message that is retried there is overtaken by those with its key",
                  "ordering :key cannot have manual_offset_management: a message is done when consume has returned for it"],
      errors { ordering :key; manual_offset_management; retry_topics 5; dead_letter_queue topic: "d" } # rubocop:disable Style/Semicolon
  end

  def test_ordering_takes_a_key_and_bounds
    assert_equal ["ordering by must be :key, not :partition", "ordering max_parked_keys must be an Integer ≥ 1, not 0",
                  "ordering max_parked_messages must be an Integer ≥ 1, not nil"],
      errors { ordering :partition, max_parked_keys: 0, max_parked_messages: nil }
    assert_equal ["ordering: unknown keyword max_parked_key; did you mean max_parked_keys?"], errors("u") { ordering :key, max_parked_key: 3 }
      .grep(/ordering/).last(1)
  end

  def test_ordering_by_key_is_by_the_message_s_key_unless_the_route_says_otherwise
    @application.routes.draw do
      topic("a") do
        consumer Handles
        ordering :key
      end
    end
    topic, = @application.validate!
    assert_equal "k", topic.virtual_partitions.partitioner.call(Struct.new(:raw_key).new("k"))
    assert_includes @application.routes.to_s, "virtual partitions, ordered by key"
    assert_equal "key", topic.summary["ordering"]
  end

  def test_transactional_takes_a_boolean
    assert_equal ["transactional must be true or false, not 3"], errors { transactional 3 }
  end

  def test_transactional_needs_read_committed
    @application.config.kafka = {"bootstrap.servers": "localhost:1", "isolation.level": "read_uncommitted"}
    assert_equal ["transactional needs isolation.level read_committed, which is the default"], errors { transactional }
  end

  def test_transactional_needs_an_idempotent_producer
    @application.config.producer = {acks: 1}
    assert_match(/\Aproducer, for transactional topics: .*acks/, errors { transactional }.first)
  end

  def test_a_mistake_is_one_error_that_says_what_is_taken
    {proc { throttle 5, 10 } => "throttle: takes keywords only: limit:, per:", proc { deserializing :lazy } => "deserializing: takes keywords only: parallel:, lazy:",
     proc { deserializers :key } => "deserializers: takes keywords only: payload:, key:, headers:",
     proc { retries 3 } => "retries: takes keywords only: pause_timeout:, pause_max_timeout:, non_retryable:, transient:, contention_limit:",
     proc { ordering } => "ordering by must be :key, not nil",
     proc { dead_letter_queue "h.dead" } => 'dead_letter_queue takes topic: and other keywords, or false, not "h.dead"'}
      .each do |block, text|
        setup
        assert_equal [text], errors(&block)
      end
    setup
    assert_equal ['routes: topic "a" takes its settings in a block, not as keywords: topic("a") { consumer … }'], problems { topic "a", consumer: Handles }
  end

  # Such an error was raised as it was, with the frames of the framework, and without the topic.
  def test_wrong_code_in_a_block_is_an_error_of_the_configuration_with_its_place
    {proc { consumer Missing } => /uninitialized constant .*Missing \(NameError\)/,
     proc { deserializer Guildhall::JSON.lazzy } => /undefined method 'lazzy' for .* \(NoMethodError\)/,
     proc { max_messages Integer("five") } => /invalid value for Integer\(\): "five" \(ArgumentError\)/,
     proc { max_messages 5 + nil } => /nil can't be coerced into Integer \(TypeError\)/,
     proc { deserializer Guildhall::Schema.new({}, typo: 1).validator } => /typo/}
      .each do |block, text|
        setup
        @application.routes.draw { topic("i", &block) }
        error = assert_raises(Guildhall::ConfigurationError) { @application.validate! }
        assert_match(/\Atopic "i": #{Regexp.escape(__FILE__)}:#{block.source_location[1]}: /, error.message)
        assert_match text, error.message
        assert_equal 78, Guildhall::CLI.status(error)
      end
  end

  def test_other_errors_of_a_block_are_raised
    @application.routes.draw { topic("i") { deserializer File.read("/missing") } }
    assert_raises(Errno::ENOENT) { @application.validate! }
  end

  def problems(&)
    @application.routes.draw(&)
    assert_raises(Guildhall::ConfigurationError) { @application.validate! }.message.lines(chomp: true).drop(1).map { |line| line.delete_prefix("  - ") }
  end

  def test_arguments_of_groups_that_do_not_fit_are_reported_with_the_rest
    {"topic: wrong number of arguments (given 0, expected 1)" => proc { topic { nil } }, "pattern: wrong number" => proc { pattern { nil } },
     "consumer_group: wrong number" => proc { consumer_group { nil } }, "multiplexing: wrong number" => proc { multiplexing },
     "schedule: wrong number" => proc { schedule("x") { nil } }, "delay_topics: unknown keyword prefx; did you mean prefix?" => proc { delay_topics 1, prefx: "x" }}
      .each do |text, block|
        setup
        @application.config.concurrency = 0
        found = problems(&block)
        assert_equal "concurrency must be an Integer ≥ 1, not 0", found.first
        assert_includes found.last, text
        assert_equal 2, found.size, found
      end
  end

  def test_a_group_whose_name_cannot_be_part_of_a_topic_s
    rule = "and topic names have letters, digits, '.', '_' and '-' only, 249 at most"
    [proc { delay_topics }, proc { delay_topics_for("t") }].each do |block|
      setup
      assert_equal ["routes: delay_topics needs a prefix: after the group \"my group\" it would be \"my group.delay\", #{rule}"],
        problems { consumer_group("my group") { instance_eval(&block) } }
    end
    setup
    found = problems { consumer_group("my group") { topic("t") { consumer(Handles) && dead_letter_queue(topic: "dead") && retry_topics(5) } } }
    assert_equal "topic \"t\": retry_topics needs a prefix: after the group \"my group\" it would be \"t.my group.retry\", #{rule}", found.first
    setup
    @application.routes.draw do
      consumer_group("my group") do
        topic("t") { consumer(Handles) && dead_letter_queue(topic: "dead") && retry_topics(5, prefix: "p") }
        delay_topics 5, prefix: "q"
      end
    end
    assert_equal %w[t p.5 q.5], @application.validate!.map(&:name)
  end

  def test_a_dead_letter_queue_can_be_switched_off
    @application.routes.draw do
      defaults { dead_letter_queue topic: "dead" }
      topic("a") { consumer Handles }
      topic("b") { consumer(Handles) && dead_letter_queue(false) }
    end
    assert_equal ["dead", nil], @application.validate!.map { |topic| topic.dead_letter_queue&.topic }
    assert_match(/\Adead_letter_queue takes topic: and other keywords, or false, not "dead"\z/, errors("x") { dead_letter_queue "dead" }.first)
  end

  def test_delays_whose_topics_would_have_no_name_are_refused
    assert_equal ["routes: delay_topics delays must be one or more ascending numbers of seconds (5, 30, 300), not [(1/3)]"], problems { delay_topics 1/3r }
    setup
    assert_match(/\Aretry_topics delays must be/, errors { dead_letter_queue(topic: "dead") && retry_topics(1e30) }.first)
  end

  def test_whether_a_consumer_may_seek_before_it_consumes
    seeks = Class.new(Handles) { def initialized = seek(5) }
    @application.routes.draw do
      topic("a") { consumer Handles }
      topic("b") { consumer Class.new(seeks) }
      topic("c") { serializer Guildhall::JSON }
    end
    assert_equal [false, true, false], @application.validate!.map(&:may_seek_at_first?)
  end

  def test_a_topic_that_the_framework_names_has_no_other_use
    handles = proc { consumer Handles }
    found = problems do
      consumer_group("b") { topic("a.b.delay.10", &handles) }
      consumer_group("a.b") { delay_topics(10) }
    end
    assert_equal ['topic "a.b.delay.10" would be a delay topic of group a.b and a topic of group b: give one of them another name'], found
    setup
    found = problems do
      topic("a") { consumer(Handles) && dead_letter_queue(topic: "x.delay.10") }
      consumer_group("x") { delay_topics(10) }
    end
    assert_equal ['topic "x.delay.10" would be a delay topic of group x and for dead letters of a: give one of them another name'], found
    setup
    found = problems do
      consumer_group("b.c") { topic("a") { consumer(Handles) && dead_letter_queue(topic: "dead") && retry_topics(5) } }
      consumer_group("c") { topic("a.b") { consumer(Handles) && dead_letter_queue(topic: "dead") && retry_topics(5) } }
    end
    assert_equal 1, found.size
    assert_match(/groups b\.c and c have the same prefix "a\.b\.c\.retry"/, found.first)
    setup
    found = problems { %w[g h].each { |name| consumer_group(name) { schedule(topic: "runs") { task(name, "0 3 * * *") { nil } } } } }
    assert_equal ['topic "runs" would be the schedule of group g and the schedule of group h: give one of them another name'], found
  end

  def test_dead_letters_of_ones_own_naming_are_for_another_consumer
    other = Class.new(Guildhall::Kafka::Consumer) { def consume = nil }
    own = proc { consumer(Handles) && dead_letter_queue_of_its_own }
    found = problems { %w[a a.dead].each { |name| topic(name, &own) } }
    assert_equal ['topic "a.dead" would be for dead letters of a and a topic of group guildhall: give one of them another name'], found
    setup
    @application.routes.draw do
      topic("a", &own)
      topic("a.dead") { consumer other }
      consumer_group("b") { topic("a", &own) }
    end
    assert_equal %w[a a.dead a], @application.validate!.map(&:name)
  end

  def test_groups_must_not_share_topics_in_which_messages_wait
    found = problems do
      %w[a b].each { |name| consumer_group(name) { delay_topics(prefix: "later") } }
      %w[c d].each { |name| consumer_group(name) { topic("t") { consumer(Handles) && dead_letter_queue(topic: "dead") && retry_topics(5, 30, prefix: "again") } } }
    end
    assert_equal ["groups a and b have the same prefix \"later\": each would take what the other's messages wait for; give each its own",
                  "groups c and d have the same prefix \"again\": each would take what the other's messages wait for; give each its own"], found
  end

  def test_what_the_framework_sends_has_to_be_confirmed_and_needs_no_transaction
    [proc { schedule { task("t", "every hour") { nil } } }, proc { delay_topics }].each do |routes|
      {{acks: 0} => "producer acks 0"}.each do |settings, text|
        setup
        @application.config.producer = settings
        assert_includes problems(&routes).first, text
      end
    end
  end

  def test_assign_takes_partitions_and_places
    problem = "assign partitions must be a Hash of partitions and where to begin: {0 => :all, 1 => -10}, not "
    [{}, {0 => :some}, {-1 => :all}, {"0" => :all}, 3].each do |partitions|
      setup
      assert_equal ["#{problem}#{partitions.inspect}"], errors { assign partitions: partitions }
    end
  end

  def test_assign_excludes
    assert_equal ["assign cannot be combined with transactional: without a group nothing is committed",
                  "assign cannot be combined with retry_topics: without a group nothing is committed"],
      errors { assign(partitions: {0 => :all}) && transactional && dead_letter_queue(topic: "dead") && retry_topics(5) }.grep(/assign/)
    setup
    assert_equal ["assign needs a topic, not a pattern"], errors(/t/) { assign partitions: {0 => :all} }
  end
end
