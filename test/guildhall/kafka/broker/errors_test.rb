# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"

class KafkaBrokerErrorsTest < GuildhallTest
  Errors = Guildhall::Kafka::Broker::Errors

  # @return [Array<Symbol>] all codes of this librdkafka
  def known
    (-300..200).map { |number| Errors.name_of(number) }.reject { |name| name.include?("?") }.map { |name| Errors.symbol(name) }
  end

  def test_the_list_has_only_codes_that_librdkafka_has_each_once
    codes = Errors::CODES.values.flatten
    assert_equal codes.uniq, codes
    assert_empty codes - known
    assert_empty Errors::ADVICE.keys - known
  end

  def test_what_somebody_has_to_do_something_about_comes_with_advice
    codes = Errors::CODES.values_at(:right, :credentials, :missing, :leader, :coordinator).flatten
    assert_empty(codes.reject { |code| Errors.advice(code) } - %i[fenced_leader_epoch unknown_leader_epoch offset_not_available not_controller])
    Errors::ADVICE.each_value { |line| refute_includes line, "\n" }
    %i[fenced_instance_id unreleased_instance_id].each { |code| assert_match(/group\.instance\.id: give each its own/, Errors.advice(code)) }
  end

  def test_each_right_names_what_to_grant
    {topic_authorization_failed: "READ", group_authorization_failed: "READ", transactional_id_authorization_failed: "WRITE",
     cluster_authorization_failed: "CREATE"}.each { |code, right| assert_match(/grant the user .*#{right}/, Errors.advice(code)) }
  end

  def test_a_code_is_a_number_a_name_a_symbol_or_an_error
    error = Rdkafka::RdkafkaError.new(29)
    [29, "TOPIC_AUTHORIZATION_FAILED", :topic_authorization_failed, error, Guildhall::Kafka::KafkaError.of(29)].each do |code|
      assert_equal :right, Errors.kind(code)
      assert_equal :topic_authorization_failed, Errors.symbol(code)
    end
    assert_equal :transport, Errors.symbol("_TRANSPORT")
  end

  def test_kinds
    {transport: :unanswered, coordinator_not_available: :coordinator, queue_full: :undelivered, leader_not_available: :leader,
     unknown_topic_or_part: :missing, group_authorization_failed: :right, sasl_authentication_failed: :credentials, ssl: :credentials,
     illegal_generation: :member, purge_queue: :purged, fenced_instance_id: :replaced, no_offset: :nothing}.each { |code, kind| assert_equal kind, Errors.kind(code), code }
    assert_nil Errors.kind(:msg_size_too_large)
  end

  def test_nothing_to_commit
    assert([-168, "_NO_OFFSET", :no_offset].all? { |code| Errors.nothing?(code) })
    assert([0, -185, :illegal_generation].none? { |code| Errors.nothing?(code) })
  end

  def test_what_may_not_be_used_says_nothing_about_the_message
    assert(%i[unknown_topic_or_part topic_authorization_failed authentication sasl_authentication_failed].all? { |code| Errors.unusable?(code) })
    assert(%i[msg_size_too_large transport no_error].none? { |code| Errors.unusable?(code) })
  end

  def test_an_outage_says_nothing_about_the_request
    assert(%i[transport all_brokers_down not_enough_replicas leader_not_available msg_timed_out wait_coord].all? { |code| Errors.outage?(code) })
    assert(%i[purge_queue purge_inflight].all? { |code| Errors.outage?(code) && Errors.purged?(code) })
    assert(%i[no_error msg_size_too_large topic_authorization_failed unknown_topic_or_part fatal].none? { |code| Errors.outage?(code) })
  end

  def test_which_answers_to_a_commit_pass
    assert([-195, -185, -180, -166, 7, 13, 14, 15, 16].all? { |code| Errors.outage?(code) })
    assert([0, 3, 22, 25, 27, 30, -168, -150].none? { |code| Errors.outage?(code) })
  end

  def test_commits_that_leave_nothing_to_do
    assert(%i[no_offset rebalance_in_progress illegal_generation unknown_member_id assignment_lost unknown_topic_or_part].all? { |code| Errors.commit_settled?(code) })
    assert(%i[fenced_instance_id group_authorization_failed timed_out].none? { |code| Errors.commit_settled?(code) })
  end

  def test_a_coordinator_that_changes_is_asked_again_one_that_was_waited_for_is_not
    assert Errors.coordinator_changes?(:not_coordinator)
    refute Errors.coordinator_changes?(:wait_coord)
    assert_equal :coordinator, Errors.kind(:wait_coord)
  end

  def test_advice_about_a_message_that_cannot_be_sent_names_its_topic
    assert_equal "create topic dead", Errors.advice(:unknown_topic_or_part, produce: "dead")
    assert_equal "grant WRITE and DESCRIBE on topic dead", Errors.advice("TOPIC_AUTHORIZATION_FAILED", produce: "dead")
    assert_equal Errors.advice(:timed_out), Errors.advice(:timed_out, produce: "dead")
    assert_nil Errors.advice(:offset_not_available, produce: "dead")
  end

  def test_advice_names_what_was_tried_with_it
    {consume: :topic_authorization_failed, create: :topic_authorization_failed, join: :group_authorization_failed,
     transact: :transactional_id_authorization_failed}.each { |tried, code| assert_match(/\Agrant .* name\b/, Errors.advice(code, tried => "name")) }
    assert_equal Errors.advice(:topic_authorization_failed), Errors.advice(:topic_authorization_failed, consume: nil)
  end
end
