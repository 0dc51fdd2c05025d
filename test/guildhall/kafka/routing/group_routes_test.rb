# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"

class KafkaRoutingGroupRoutesTest < GuildhallTest
  class Handles < Guildhall::Kafka::Consumer
    def consume; end
  end

  def setup
    application = Guildhall::Kafka::Application.new
    application.config.kafka = {"bootstrap.servers": "localhost:1"}
    application.routes.draw do
      pattern(/\Aorders/i) { consumer Handles }
      pattern(/\d\z/) { consumer Handles }
      topic("orders.eu") { consumer Handles }
    end
    @orders, @numbered, @eu = @all = application.validate!
  end

  def test_a_route_of_that_name_wins_over_patterns_and_an_earlier_pattern_over_later_ones
    routes = Guildhall::Kafka::Routing::GroupRoutes.new(@all)
    assert_equal [@eu, @orders, @orders, @numbered, nil], %w[orders.eu ORDERS.us orders1 x1 x].map { |name| routes.route(name) }
    assert_equal [@eu, @orders], routes.candidates("orders.eu")
    assert_equal [@orders, @numbered], routes.candidates("orders1")
  end

  def test_what_has_a_route_of_its_own_in_another_process_is_left_to_it
    routes = Guildhall::Kafka::Routing::GroupRoutes.new([@orders], @all)
    assert_nil routes.route("orders.eu")
    assert_equal @orders, routes.route("orders.us")
  end
end
