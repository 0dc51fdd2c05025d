# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"

# When a member joins anew because it knows of other partitions than its coordinator; protocol_answer_lost.rb has the real ones.
class KafkaMissedAssignmentTest < GuildhallTest
  Groups = Guildhall::Kafka::Admin::Groups
  MissedAssignment = Guildhall::Kafka::Group::MissedAssignment

  def group(id, partitions)
    member = Groups::Member.new(id:, client_id: "c", host: "h", instance_id: nil, partitions:, target: nil)
    Groups::Group.new(name: "g", state: :stable, protocol: :consumer, assignor: nil, coordinator: nil, members: [member])
  end

  # Answers what each question is to have in turn, and then the last again.
  def assignment(*answers, held: [["t", 0], ["t", 1]], id: "me")
    @held = held
    groups = lambda do |_name|
      partitions = answers.size > 1 ? answers.shift : answers.first
      raise partitions if partitions.is_a?(Exception)

      group(id, {"t" => partitions})
    end
    admins = Class.new { define_method(:open) { |_settings, &block| block.call(Struct.new(:groups).new(groups)) } }.new
    MissedAssignment.new(Struct.new(:member_id).new("me"), {"group.id": "g"}, pause: 0, admins:) { @held }.missed
  end

  def test_it_is_asked_once_for_each_more_that_had_no_answer
    missed = MissedAssignment.new(nil, {}) { [] }
    assert_equal([false, true, false, true], [0, 2, 2, 3].map { |timeouts| missed.suspected?(timeouts) })
  end

  def test_the_coordinator_knows_the_same
    assert_nil assignment([1, 0])
  end

  def test_it_knows_others_for_a_moment_only
    assert_nil assignment([0], [0, 1])
  end

  def test_it_knows_others
    still = assignment([0])
    assert still.call
    @held = [["t", 0]]
    refute still.call, "the answer came late"
    assert assignment([0, 1, 2]).call
  end

  def test_a_member_that_it_does_not_know_joins_by_itself
    assert_nil assignment([0], id: "another")
    assert_nil assignment(Guildhall::Kafka::UnknownGroupError.new("g"))
  end

  TIMED_OUT = -185
  COORDINATOR_LOAD_IN_PROGRESS = 14
  GROUP_AUTHORIZATION_FAILED = 30

  # Another broker may answer meanwhile, and say so.
  def test_while_the_coordinator_does_not_answer_it_is_asked_again
    outages = [Guildhall::Kafka::UnreachableError.new(-195, "_TRANSPORT", "no answer"),
               *[TIMED_OUT, COORDINATOR_LOAD_IN_PROGRESS].map { |code| Guildhall::Kafka::KafkaError.of(code) }]
    assert assignment(*outages, [0]).call
    assert_raises(Guildhall::Kafka::AuthorizationError) { assignment(Guildhall::Kafka::KafkaError.of(GROUP_AUTHORIZATION_FAILED)) }
  end
end
