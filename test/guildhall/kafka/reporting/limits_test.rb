# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"

class KafkaLimitsTest < GuildhallTest
  Limits = Guildhall::Kafka::Reporting::Limits

  def problem(value) = Limits::RULE.problem(value)

  def test_those_that_are_not_given
    assert_equal [60, 300, 60, 0.85, 5, 1, 3], Limits.given({}).to_h.except(:topics).values
    assert_equal [10, 300], Limits.given({old: 10}).then { |limits| [limits.old, limits.very_old] }
  end

  def test_by_topic
    limits = Limits.given({topics: {"reports" => {old: 600, very_old: 3_600}}})
    assert_equal [[600, 3_600, 60], [60, 300, 60]], %w[reports orders].map { |name| limits.of(name).then { |one| [one.old, one.very_old, one.slow] } }
  end

  def test_what_they_may_be
    assert_nil problem({old: 0.5, very_old: 1, slow: 7, memory: 1, errors: 1, dead_letters: 2, rebalances: 9, topics: {"a" => {old: 1}}})
    {7 => "must be a Hash", {olt: 1} => "did you mean old", {old: -1} => "old must be a finite number > 0 (seconds)", {memory: 85} => "memory must be a share above 0",
     {errors: 0} => "errors must be an Integer", {old: 900} => "old must not be above very_old", {topics: {"a" => {old: 900}}} => "old must not be above very_old",
     {topics: {"a" => {memory: 1}}} => "unknown setting a.memory", {topics: {a: {}}} => "a Hash of topics and their limits", {topics: {"a" => 1}} => "a Hash of topics"}
      .each { |value, text| assert_includes problem(value).to_s, text }
  end

  def test_as_a_setting_of_the_application
    application = Guildhall::Kafka::Application.new
    application.config.kafka = {"bootstrap.servers": "127.0.0.1:1"}
    application.config.attention = {old: 120, memory: 2}
    application.routes.draw { topic("orders") { consumer(Class.new(Guildhall::Kafka::Consumer) { def consume = nil }) } }
    assert_includes assert_raises(Guildhall::ConfigurationError) { application.validate! }.message, "attention memory must be a share above 0, and 1 at most, not 2"
    application.config.attention = {old: 120}
    application.validate!
    assert_equal 120, application.config.attention_limits.old
  end
end
