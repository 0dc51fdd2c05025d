# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka/routing/conflicts"

# Where dead letters go round.
class KafkaRoutingConflictsTest < GuildhallTest
  # A route, as far as its dead letters are concerned. A name that begins with ^ is a pattern.
  Route = Data.define(:name, :dead_letter_topic, :group) do
    def consumed? = true
    def pattern? = name.start_with?("^")
    def match?(topic) = topic.match?(Regexp.new(name))
  end

  def cycles(*routes)
    topics = routes.map { |name, dead, group| Route.new(name, dead, group || "g") }
    Guildhall::Kafka::Routing::Conflicts.new(topics).dead_letter_cycles.map { |topic, names| [topic.name, names] }
  end

  def test_none
    assert_empty cycles(["a", "a.dead"], ["b", nil], ["a.dead", "a.dead.dead"])
  end

  def test_directly_and_by_way_of_others
    assert_equal [["a", ["a"]]], cycles(%w[a a])
    assert_equal [["a", %w[b c a]]], cycles(%w[a b], %w[b c], %w[c a], %w[d a])
  end

  def test_by_a_pattern_and_by_another_group
    assert_equal [["^a", ["a.dead"]]], cycles(["^a", "a.dead"])
    assert_empty cycles(["^a", "a.dead"], ["a.dead", nil])
    assert_equal [["a", %w[b a]]], cycles(%w[a b one], %w[b a two])
  end
end
