# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"
require "guildhall/kafka/routing/rights"

# Which rights routes need; the scenario secured_clients proves that these are enough.
class KafkaRightsTest < GuildhallTest
  Rights = Guildhall::Kafka::Routing::Rights

  class Handles < Guildhall::Kafka::Consumer
    def consume; end
  end

  def setup
    @application = Guildhall::Kafka::Application.new
    @application.config.kafka = {"bootstrap.servers": "127.0.0.1:1", "sasl.username": "shop"}
    @application.config.group_id = "g"
  end

  def test_what_features_need
    assert_equal [[:topic, "t", :literal, %w[READ]], [:group, "g", :literal, %w[READ]]], rights { topic("t") { consumer Handles } }
    assert_equal [[:topic, "t", :literal, %w[READ]]], rights { topic("t") { consumer(Handles) && assign(partitions: {0 => :all}) } }
    assert_equal [[:topic, "t", :literal, %w[WRITE]]], rights { topic("t") { serializer Guildhall::JSON } }
    assert_equal [[:topic, "t", :literal, %w[READ]], [:topic, "t.g.retry.1", :literal, %w[READ WRITE CREATE]],
                  [:group, "g", :literal, %w[READ]], [:topic, "dead", :literal, %w[WRITE]]],
      rights { topic("t") { consumer(Handles) && dead_letter_queue(topic: "dead") && retry_topics(1) } }
    assert_includes rights { topic("t") { consumer(Handles) && transactional } }, [:transactional_id, "g/t/", :prefixed, %w[WRITE]]
    assert_equal [[:topic, "g.delay.5", :literal, %w[READ WRITE CREATE]], [:group, "g", :literal, %w[READ]],
                  [:topic, "g.delay.dead", :literal, %w[WRITE CREATE]]], rights { delay_topics 5 }
    assert_includes rights { schedule { task("a", "* * * * *") { nil } } }, [:topic, "g.schedule", :literal, %w[READ WRITE CREATE]]
  end

  def test_what_commands_need_besides
    route = proc { topic("t") { consumer(Handles) && dead_letter_queue(topic: "dead") } }
    assert_equal [[:topic, "t", :literal, %w[WRITE]], [:topic, "dead", :literal, %w[READ]], [:group, "g.replay", :literal, %w[READ]],
                  [:group, "g.replay.work", :literal, %w[READ]], [:transactional_id, "g.replay/", :prefixed, %w[WRITE]]],
      rights(:commands, &route)
    assert_includes rights(:checks, &route), [:cluster, "kafka-cluster", :literal, %w[DESCRIBE_CONFIGS]]
    assert_empty rights(:checks) { topic("t") { consumer Handles } }
  end

  def test_what_reports_need
    assert_empty rights(:reports) { topic("t") { consumer Handles } }
    @application.config.reports = {topic: "shop.reports"}
    2.times { |number| @application.routes.draw { topic("t#{number}") { consumer Handles } } }
    assert_equal [[:reports, "User:shop", "shop.reports", :literal, %w[WRITE CREATE]]],
      grants.select { |grant| grant.name == "shop.reports" }.map { |grant| [grant.stage, grant.principal, grant.name, grant.pattern, grant.operations] }
  end

  def test_what_commands_need
    @application.config.commands = {insecure: true}
    @application.routes.draw { topic("t") { consumer Handles } }
    assert_equal [["guildhall.commands", %w[READ CREATE]], ["guildhall.reports", %w[WRITE CREATE]]],
      grants.select { |grant| grant.stage == :reports }.map { |grant| [grant.name, grant.operations] }.sort
  end

  def test_patterns
    {/\Aorders-/ => "orders-", /^orders\.x-\d+/ => "orders.x-", /\Aorders_(a|b)/ => "orders_", /\Aab*c/ => "a", /\Aab{2}/ => "a", /\Aa|b/ => nil,
     /\A[ab|c]/ => nil, /\Aa[|]/ => "a", /orders/ => nil, /\Aorders/i => nil, /\Ao r/x => nil, /\A(?i)a/ => nil, /\Aa\|b/ => "a",
     /\Aa?/ => nil, /\A\w/ => nil}.each { |pattern, prefix| prefix ? assert_equal(prefix, Rights.prefix(pattern)) : assert_nil(Rights.prefix(pattern)) }
    assert_equal [[:topic, "a-", :prefixed, %w[READ]], [:topic, /b/, nil, %w[READ]], [:group, "g", :literal, %w[READ]]],
      rights { [/\Aa-/, /b/].each { |one| pattern(one) { consumer Handles } } }
  end

  # The route consumes with its own credentials, and the application's producer sends its dead letters.
  def test_each_user_gets_its_own
    grants = grants { topic("t") { kafka("sasl.username": "other") && consumer(Handles) && dead_letter_queue(topic: "dead") } }
    assert_equal [%w[User:other t READ], %w[User:other g READ], %w[User:shop dead WRITE], %w[User:shop t WRITE], %w[User:shop g DESCRIBE],
                  %w[User:shop dead READ],
                  %w[User:shop g.replay READ], %w[User:shop g.replay.work READ], %w[User:shop g.replay/ WRITE]],
      grants.reject { |grant| grant.stage == :checks }.map { |grant| [grant.principal, grant.name, grant.operations.join] }
  end

  def test_without_a_user
    @application.config.kafka = {"bootstrap.servers": "127.0.0.1:1"}
    error = assert_raises(Guildhall::ArgumentError) { grants { topic("t") { consumer Handles } } }
    assert_includes error.message, "--principal User:shop"
    assert_equal ["User:CN=shop"], grants(principal: "User:CN=shop").map(&:principal).uniq
  end

  private

  def rights(stage = :run, &routes)
    @application = Guildhall::Kafka::Application.new.tap do |application|
      application.config.kafka = @application.config.kafka
      application.config.group_id = "g"
    end
    grants(&routes).select { |grant| grant.stage == stage }.map { |grant| [grant.resource, grant.name, grant.pattern, grant.operations] }
  end

  def grants(principal: nil, &routes)
    @application.routes.draw(&routes) if routes
    Rights.new(@application.validate!, @application.config, principal:) { |topic| @application.client_settings(topic) }.grants
  end
end
