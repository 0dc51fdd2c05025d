# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"

class KafkaRouteSelectionTest < GuildhallTest
  class Handles < Guildhall::Kafka::Consumer
    def consume; end
  end

  def setup
    application = Guildhall::Kafka::Application.new
    application.config.kafka = {"bootstrap.servers": "localhost:1"}
    application.routes.draw do
      topic("orders") { consumer Handles }
      topic("orders.eu") { consumer Handles }
      consumer_group("reports") do
        topic("orders") { consumer Handles }
        pattern(/\Aorders\./) { consumer Handles }
      end
    end
    @routes = application.validate!
  end

  def test_what_cannot_be_a_name_is_not_routed
    {"orders.\0" => "orders.\0", "orders.\xff" => "orders.\u{fffd}", (1..) => "1..", [..1] => "..1", loop => "#<Enumerator"}.each do |name, shown|
      error = assert_raises(Guildhall::Kafka::Routing::RouteSelection::UnknownNameError, name.inspect) { select(topics: name) }
      assert_includes error.message, "not routed: topic #{shown}"
    end
    assert_equal [%w[reports orders.us]], names(select(topics: "orders.us".encode("UTF-16LE")))
  end

  def test_all_unless_told
    assert_equal @routes, select
  end

  def test_groups
    assert_equal [%w[guildhall orders], %w[guildhall orders.eu]], names(select(groups: ["guildhall"]))
    assert_equal [%w[reports orders], ["reports", /\Aorders\./]], names(select(exclude_groups: ["guildhall"]))
  end

  def test_topics_of_all_groups_and_of_patterns
    assert_equal [%w[guildhall orders], %w[reports orders]], names(select(topics: ["orders"]))
    assert_equal [%w[guildhall orders.eu], %w[reports orders.eu]], names(select(topics: ["orders.eu"]))
    assert_equal [%w[reports orders.us]], names(select(topics: ["orders.us"]))
    assert_equal [["reports", /\Aorders\./]], names(select(topics: ["/\\Aorders\\./"]))
  end

  def test_a_single_name_is_a_list_of_one
    assert_equal [%w[guildhall orders.eu], %w[reports orders.eu]], names(select(topics: :"orders.eu"))
    routes = [@routes[0], @routes[0].with(group: "guildhall-eu")]
    {groups: "guildhall-eu", exclude_groups: "guildhall"}.each do |name, value|
      chosen = Guildhall::Kafka::Routing::RouteSelection.new(name => value).choose(routes)
      assert_equal [%w[guildhall-eu orders]], names(chosen)
    end
    chosen = Guildhall::Kafka::Routing::RouteSelection.new(exclude_groups: "guildhall-eu").choose(routes)
    assert_equal [%w[guildhall orders]], names(chosen), "a part of its name is another group"
  end

  def test_what_has_a_route_of_its_own_is_taken_once
    routes = [@routes[1], @routes[3].with(group: "guildhall")]
    assert_equal [%w[guildhall orders.eu]], names(Guildhall::Kafka::Routing::RouteSelection.new(topics: ["orders.eu"]).choose(routes))
  end

  def test_excluded_topics
    chosen = select(exclude_topics: ["orders.eu"])
    assert_equal [%w[guildhall orders], %w[reports orders], ["reports", /\Aorders\./]], names(chosen)
    assert_equal [false, true], %w[orders.eu orders.us].map { |name| chosen.last.match?(name) }
    assert_equal [%w[guildhall orders], %w[guildhall orders.eu], %w[reports orders]], names(select(exclude_topics: ["/\\Aorders\\./"]))
  end

  def test_an_exclusion_wins
    assert_equal [%w[reports orders]], names(select(topics: ["orders"], exclude_groups: ["guildhall"]))
    error = assert_raises(Guildhall::ConfigurationError) { select(topics: ["orders"], exclude_topics: ["orders"]) }
    assert_includes error.message, "nothing is left to consume"
  end

  def test_names_that_are_not_routed_are_reported_together
    error = assert_raises(Guildhall::ConfigurationError) do
      select(groups: ["report"], topics: ["order"], exclude_groups: ["nobody"], exclude_topics: ["order"])
    end
    assert_equal "not routed: group report; did you mean reports?, group nobody, topic order; did you mean orders?", error.message
  end

  private

  def select(**selection)
    Guildhall::Kafka::Routing::RouteSelection.new(**selection).choose(@routes)
  end

  def names(topics)
    topics.map { |topic| [topic.group, topic.name] }
  end
end
