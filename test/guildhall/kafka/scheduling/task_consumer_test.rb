# frozen_string_literal: true

require "test_helper"
require "support/kafka_partition"

# The consumer of a schedule's topic, without a broker: what it writes comes back to it, or not.
class KafkaTaskConsumerTest < GuildhallTest
  State = Guildhall::Kafka::Scheduling::State

  def setup
    super
    @log = [] # key and payload of each record
    @labels = []
    @ran = []
    @delivered = 0
  end

  # A member of the group that gets the partition now.
  def member(missed: :run_once, &block)
    ran = @ran
    block ||= ->(due) { ran << due.to_i }
    task = Guildhall::Kafka::Scheduling::Task.new("t", "* * * * * *", Guildhall::Kafka::Scheduling::Task.cron("* * * * * *"), missed, block)
    kafka = KafkaPartition.new(Guildhall::Kafka::Scheduling::TaskConsumer) { @settings[:scheduled_tasks] = [task].freeze }
    log = @log
    labels = @labels
    kafka.application.define_singleton_method(:each_message) do |_topic, partitions:, &reader|
      raise "of all partitions" unless partitions.zero?

      log.each_with_index { |(key, payload), offset| reader.call(KafkaPartition::Record.new(offset, payload, key).tap { |record| record.define_singleton_method(:raw_key) { key } }) }
    end
    sent = lambda do |message, how|
      raise "elsewhere" unless message.values_at(:topic, :partition) == ["t", 0]

      labels << how
      log << message.values_at(:key, :payload)
      Struct.new(:wait).new
    end
    kafka.application.producer.define_singleton_method(:start) { |message| sent.call(message, :awaited) }
    kafka.application.producer.define_singleton_method(:produce_many_async) { |messages, run_middleware:| messages.each { |message| sent.call(message, run_middleware) } }
    kafka
  end

  # One second passes.
  def pass(kafka)
    kafka.partition.notify([:periodic, 0])
    kafka.work_now
  end

  # What is in the topic comes.
  def read(kafka, from = @delivered)
    records = @log.each_with_index.drop(from).map { |(key, payload), offset| KafkaPartition::Record.new(offset, payload, key, Time.now) }
    @delivered = @log.size
    return if records.empty?

    kafka.partition.deliver(records, 1)
    kafka.work_now
    assert_empty kafka.errors
  end

  def states = @log.map { |_, payload| Guildhall::JSON.decode(payload)["state"] }

  def seen(state, due, id: "other", **) = @log << State.run_record("t", State::Run.new(id:, due:, state:, at: 1.0, by: "p", **))

  # What it cannot read may be another process's claim: without it, its own would count.
  def test_after_a_record_of_a_later_release_no_task_runs
    seen(:done, Time.now.to_i - 10)
    kafka = member
    pass(kafka)
    claim = @log.pop
    @log << ["run:t", '{"v":2,"what":1}'] << claim
    @delivered = 1
    records = @log.each_with_index.drop(1).map { |(key, payload), offset| KafkaPartition::Record.new(offset, payload, key, Time.now) }
    kafka.partition.deliver(records, 1)
    kafka.work(20)
    assert_equal [[], ["Guildhall::Kafka::NewerFormatError"]], [@ran, kafka.errors.map { |error| error.class.name }.uniq]
  end

  def test_a_task_is_claimed_and_runs_when_the_claim_is_read
    seen(:done, Time.now.to_i - 10)
    kafka = member
    pass(kafka)
    assert_equal [%w[done running], []], [states, @ran]
    pass(kafka)
    assert_equal 2, @log.size # the claim is on its way
    read(kafka)
    assert_equal [%w[done running done], 1], [states, @ran.size]
    read(kafka)
    assert_equal 1, @ran.size
    assert_equal [false, :awaited], @labels, "what is not waited for, the producer reports"
  end

  def test_a_task_that_was_never_seen_is_noted_first
    kafka = member
    pass(kafka)
    read(kafka)
    assert_equal [%w[added], []], [states, @ran]
  end

  def test_of_two_claims_the_first_counts_for_both
    seen(:done, Time.now.to_i - 10)
    members = [member, member]
    members.each { |kafka| read(kafka, 0) } # both know the state, and neither the other's claim
    members.each { |kafka| pass(kafka) }
    assert_equal %w[done running running], states
    claims = @log.dup
    members.each { |kafka| read(kafka, 1) }
    dues = claims.drop(1).map { |_, payload| Guildhall::JSON.decode(payload)["due"] }
    assert_equal dues.uniq, @ran
  end

  def test_a_run_that_was_cut_off_is_repeated_by_the_next
    due = Time.now.to_i - 10
    seen(:running, due, id: "cut off")
    kafka = member
    pass(kafka)
    read(kafka)
    assert_equal [[due], %w[running running done]], [@ran, states]
  end

  def test_or_not_if_what_is_missed_is_skipped
    seen(:running, Time.now.to_i, id: "cut off")
    kafka = member(missed: :skip)
    pass(kafka)
    read(kafka)
    assert_empty @ran - [*(Time.now.to_i - 1)..Time.now.to_i]
    refute_includes @ran, Guildhall::JSON.decode(@log.first.last)["due"]
  end

  def test_what_is_more_than_a_minute_old_is_skipped
    seen(:done, Time.now.to_i - 200)
    kafka = member(missed: :skip)
    kafka.partition.topic.scheduled_tasks.first.instance_variable_set(:@cron, Class.new do
      def next_time(_) = Time.at(1)
      def previous_time(time) = Time.at(time.to_i - 100)
    end.new)
    pass(kafka)
    read(kafka)
    assert_equal [%w[done skipped], []], [states, @ran]
  end

  def test_what_was_claimed_and_not_begun_is_released
    seen(:done, Time.now.to_i - 10)
    kafka = member
    pass(kafka)
    kafka.partition.leave(:revoked)
    kafka.work_now
    assert_equal %w[done running released], states
    heir = member
    pass(heir)
    read(heir, 1)
    assert_equal 1, @ran.size
  end

  # The first time that this consumer looks at the clock is now, then it is later.
  def later(kafka, seconds)
    now = Time.now
    consumer = kafka.partition.instance_variable_get(:@consumers).at(:in_order).instance_variable_get(:@consumer)
    consumer.define_singleton_method(:now) { (now + seconds).to_f }
  end

  def test_a_claim_that_comes_back_late_is_made_again_and_runs_once
    seen(:done, Time.now.to_i - 10)
    kafka = member
    pass(kafka)
    later(kafka, 31) # the broker stood still
    pass(kafka)
    assert_equal %w[done running running], states
    read(kafka)
    assert_equal [1, %w[done running running done]], [@ran.size, states]
    read(kafka)
    assert_equal 1, @ran.size
    heir = member
    read(heir, 0)
    pass(heir)
    refute_includes Guildhall::JSON.decode(@log.last.last).keys, "follows" # it was not cut off
  end

  def test_a_task_that_was_never_seen_is_noted_once_while_nothing_comes_back
    kafka = member
    2.times { pass(kafka) }
    assert_equal %w[added], states
  end

  def test_what_a_task_raises_is_reported_and_the_next_due_time_comes
    seen(:done, Time.now.to_i - 10)
    kafka = member { raise "no ink" }
    pass(kafka)
    kafka.partition.deliver([KafkaPartition::Record.new(1, @log[1].last, @log[1].first, Time.now)], 1)
    kafka.work_now
    assert_equal [["no ink", "schedule", {group: "group", task: "t"}]], kafka.application.errors.map { |error, *rest| [error.message, *rest] }
    assert_equal "RuntimeError: no ink", Guildhall::JSON.decode(@log.last.last)["error"]
    assert_equal "failed", states.last
  end

  # Somebody wants the task to run now.
  def ask(id = "asked", ago: 0)
    @log << State.run_record("t", State::Run.new(id:, due: Time.now.to_i - ago, state: :asked, at: Time.now.to_f - ago, by: "ada"), :asked)
  end

  def asked = @log.filter_map { |key, payload| Guildhall::JSON.decode(payload) if key == "ask:t" }

  # Nothing is due: the task is disabled.
  def disabled(**, &)
    seen(:done, Time.now.to_i - 10)
    @log << State.switch_record("t", false)
    member(**, &).tap { |kafka| read(kafka, 0) }
  end

  def test_what_was_asked_for_runs_once_and_changes_no_due_time
    kafka = disabled
    ask
    2.times { read(kafka) }
    pass(kafka)
    read(kafka)
    assert_equal [%w[asked running done], 1, 1], [asked.map { |run| run["state"] }, asked.map { |run| run["due"] }.uniq.size, @ran.size]
    assert_equal 1, @log.count { |key, _| key == "run:t" }
    heir = member
    pass(heir)
    read(heir, 0)
    assert_equal 1, @ran.size
  end

  def test_of_two_processes_one_runs_what_was_asked_for
    members = [disabled, member]
    read(members.last, 0)
    ask
    key, payload = @log.last
    members.each do |kafka|
      kafka.partition.deliver([KafkaPartition::Record.new(2, payload, key, Time.now)], 1)
      kafka.work_now
    end
    members.each { |kafka| read(kafka, 3) }
    assert_equal [%w[asked running running done], 1], [asked.map { |run| run["state"] }, @ran.size]
  end

  def test_what_nobody_has_taken_in_time_does_not_run
    seen(:done, Time.now.to_i - 10)
    @log << State.switch_record("t", false)
    ask(ago: 61)
    kafka = member
    pass(kafka)
    read(kafka, 0)
    assert_equal [%w[asked skipped], []], [asked.map { |run| run["state"] }, @ran]
  end

  def test_what_was_asked_for_and_cut_off_is_repeated_as_the_rule_says
    {run_once: 1, skip: 0}.each do |missed, times|
      @log.clear
      @ran.clear
      seen(:done, Time.now.to_i - 10)
      @log << State.switch_record("t", false)
      ask
      @log << State.run_record("t", State::Run.new(id: "dead", due: asked.last["due"], state: :running, at: 1.0, by: "p"), :asked)
      kafka = member(missed:)
      pass(kafka)
      read(kafka, 0)
      read(kafka)
      assert_equal times, @ran.size, missed
    end
  end

  def test_a_disabled_task_is_left_alone
    seen(:done, Time.now.to_i - 10)
    @log << State.switch_record("t", false)
    kafka = member
    pass(kafka)
    assert_equal 2, @log.size
  end
end
