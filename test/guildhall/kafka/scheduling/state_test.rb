# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"

class KafkaScheduleStateTest < GuildhallTest
  State = Guildhall::Kafka::Scheduling::State
  Record = Struct.new(:offset, :raw_key, :raw_payload) { def tombstone? = raw_payload.nil? }

  def setup
    super
    @state = State.new
    @offset = -1
  end

  def read(key, payload) = @state.read(Record.new(@offset += 1, key, payload))

  def run_of(id, due, state, **) = State::Run.new(id:, due:, state:, at: 1.0, by: "p", **)

  def write(name, run) = read(*State.run_record(name, run))

  def test_the_first_claim_of_a_due_time_counts
    assert_equal [:due, "t", run_of("a", 100, :running)], write("t", run_of("a", 100, :running))
    assert_nil write("t", run_of("b", 100, :running))
    assert_equal "a", @state.run("t").id
    assert_equal [:due, "t", run_of("c", 160, :running)], write("t", run_of("c", 160, :running))
    assert_nil write("t", run_of("d", 100, :running))
  end

  def test_the_end_is_of_the_claim_that_counts
    write("t", run_of("a", 100, :running))
    write("t", run_of("b", 100, :running))
    write("t", run_of("b", 100, :done))
    assert_equal({[:due, "t"] => run_of("a", 100, :running)}, @state.running)
    write("t", run_of("a", 100, :failed, error: "E: no"))
    assert_equal [:failed, "E: no", {}], [@state.run("t").state, @state.run("t").error, @state.running]
  end

  def test_who_takes_over_names_the_claim_that_was_cut_off
    write("t", run_of("a", 100, :running))
    assert write("t", run_of("b", 100, :running, follows: "a"))
    assert_nil write("t", run_of("c", 100, :running, follows: "a"))
    assert_equal "b", @state.run("t").id
  end

  def test_a_claim_that_was_released_is_claimed_again
    write("t", run_of("a", 100, :running))
    write("t", run_of("a", 100, :released))
    assert_equal 99, @state.since("t")
    assert write("t", run_of("b", 100, :running))
    assert_equal 100, @state.since("t")
  end

  def test_a_record_that_a_compaction_has_left_stops_nothing
    write("t", run_of("loser", 100, :running)) # what came before it is gone
    write("t", run_of("winner", 100, :done))
    assert_equal "loser", @state.run("t").id
    assert write("t", run_of("next", 160, :running))
  end

  def test_records_of_others_stop_nothing
    good = {id: "a", due: 100, state: "running", at: 1.0, by: "p"}
    write("t", run_of("first", 50, :done))
    [nil, 3, [], {}, good.except(:due), *(good.keys - [:by]).map { |name| good.merge(name => nil) }, good.merge(due: "soon"), good.merge(due: 1.5), good.merge(state: "odd"), good.merge(at: "now")]
      .each { |payload| assert_nil read("run:t", Guildhall::JSON.encode(payload)), payload.inspect }
    [{}, {enabled: nil, at: 1}, {enabled: false, at: nil}, {enabled: false}].each { |payload| assert_nil read("switch:t", Guildhall::JSON.encode(payload)) }
    assert_equal ["first", true, 50], [@state.run("t").id, @state.enabled?("t"), @state.since("t")]
  end

  def test_due_times_count_from_when_a_task_was_enabled
    assert_nil @state.since("t")
    write("t", run_of("a", 100, :added))
    assert_equal [100, true], [@state.since("t"), @state.enabled?("t")]
    read(*State.switch_record("t", false))
    refute @state.enabled?("t")
    read(*State.switch_record("t", true))
    assert_operator @state.since("t"), :>, 1_000_000_000
  end

  def test_what_was_read_before_and_foreign_records_change_nothing
    write("t", run_of("a", 100, :running))
    assert_nil @state.read(Record.new(0, *State.run_record("t", run_of("x", 500, :running))))
    [[nil, "x"], ["run:t", "{"], ["run:t", nil], ["run:t", '{"id":"x"}'], ["nonsense", "1"], ["switch:t", "[]"]].each { |record| assert_nil read(*record) }
    assert_equal "a", @state.run("t").id
  end
end
