# frozen_string_literal: true

require "test_helper"
require "support/kafka_partition"
require "guildhall/kafka/commanding/receiver"

# Commands as a process gets them, without a broker: what each does, and what keeps it from being carried out.
class KafkaCommandReceiverTest < GuildhallTest
  Commanding = Guildhall::Kafka::Commanding
  Record = Data.define(:raw_payload, :headers, :timestamp, :offset)
  PARTITION = {group: "group", topic: "t", partition: 0}.freeze

  class Fails < Guildhall::Kafka::Consumer
    def consume = messages.each_marking { |message| raise KeyError, "no" if message.offset == 2 }
  end

  # What a receiver needs of an application.
  class Application
    attr_reader :config, :partitions, :events, :told, :done, :errors, :log
    attr_accessor :reporter

    def initialize(partitions, **commands)
      @config = Guildhall::Kafka::Config.new
      @config.commands = commands
      @config.kafka = {"bootstrap.servers": "localhost:1"}
      @partitions = partitions
      @events = []
      @told = []
      @done = []
      @errors = []
      @log = []
      @reporter = self
    end

    def process_name = "host:1:a"
    def publish(name, **payload) = @events << [name, payload]
    def error(error, type, **place) = @errors << [error.message, type, place]
    def event(name, text, **fields) = @told << [name, text, fields]
    def backpressure = nil
    def log_target = self
    def warn(text) = @log << text
    %i[quiet resume ask_to_stop].each { |name| define_method(name) { @done << name } }
  end

  def setup
    @private, @public = Commanding::Keys.generate
    @kafka = KafkaPartition.new(Fails, pause_timeout: 60, pause_max_timeout: 60)
    @kafka.deliver(0...5).work_now
    receive_with
  end

  def receive_with(partitions: [@kafka.partition], **commands)
    @application = Application.new(partitions, public_key: @public, allow: Commanding::ACTIONS, **commands)
    @receiver = Commanding::Receiver.new(@application)
  end

  def command(action, target: PARTITION, id: SecureRandom.uuid, **) = Commanding::Command.make(action:, target:, by: "ada", why: "try", id:, **)

  def record(command, key: @private, read: 0)
    bytes = command.encode
    headers = key ? {"signature" => Commanding::Keys.sign(Commanding::Keys.private(key), bytes)} : {}
    Record.new(bytes, headers, Time.now - read, 7)
  end

  # @return [Array(String, String)] outcome and reason
  def give(action, read: 0, **)
    @receiver.receive(record(command(action, at: Time.now.to_f - read, **), read:))
    @application.told.last&.last&.values_at(:outcome, :reason)
  end

  def snapshot = @kafka.partition.snapshot

  def test_a_pause_beside_the_consumers_own
    outcome, reason = give(:pause, args: {seconds: 100})
    assert_equal "done", outcome
    assert_match(%r{\At/0: paused until 20.* UTC, or until the next rebalance takes it away\z}, reason)
    assert_in_delta 100, snapshot.rests.fetch(:command).left, 5
    @kafka.partition.pause(nil)
    @kafka.partition.resume
    assert_equal [:command], snapshot.rests.keys & %i[user command], "neither ends the other"
    @kafka.partition.pause(nil)
    assert_match(%r{\At/0: resumed; t/0: .*by its consumer, until that is ended}, give(:resume).last)
    assert_equal [:user], snapshot.rests.keys & %i[user command]
    assert_equal "t/0: no command has paused it", give(:resume).last
  end

  # A state, not a toggle.
  def test_the_later_pause_counts
    2.times { |times| give(:pause, args: {seconds: 100 * (times + 1)}) }
    assert_in_delta 200, snapshot.rests.fetch(:command).left, 5
    assert_equal :backoff, snapshot.state
    give(:retry)
    assert_equal [:paused, true], [snapshot.state, @kafka.partition.inspect.include?("by command, for 3m")]
  end

  def test_a_paused_partition_consumes_nothing_and_goes_on_afterwards
    kafka = KafkaPartition.new(Class.new(Guildhall::Kafka::Consumer) { def consume = nil })
    receive_with(partitions: [kafka.partition])
    give(:pause, args: {seconds: 3_600})
    kafka.deliver(0...5).work_now
    assert_equal [0, 5], [kafka.partition.snapshot.position.to_i, kafka.partition.snapshot.in_memory]
    give(:resume)
    kafka.work_now
    assert_equal 5, kafka.partition.snapshot.position
  end

  def test_it_ends_with_the_assignment
    give(:pause, args: {seconds: 100})
    @kafka.partition.leave(:revoked)
    assert_empty snapshot.rests
    assert_equal ["refused", "t/0 is being given up"], give(:pause, args: {seconds: 100})
  end

  def test_retry_ends_a_back_off
    assert_equal :backoff, snapshot.state
    assert_equal ["done", "t/0: the next attempt comes now (1 partition backed off)"], give(:retry)
    @kafka.work_now
    assert_equal 2, snapshot.error.failures
    give(:retry)
    assert_equal ["done", "t/0: nothing waited for another attempt"], give(:retry)
  end

  def test_a_seek_from_where_it_is_expected
    assert_equal ["done", "t/0: from 2 to 4: 2 offsets will not be consumed"], give(:seek, args: {to: 4}, expect: {position: 2})
    @kafka.work_now
    assert_equal 4, @kafka.client.sought
    assert_equal 4, snapshot.position
    assert_match(/from 4 to 0: 4 offsets will be consumed again/, give(:seek, args: {to: 0}, expect: {position: 4}).last)
  end

  def test_what_is_expected_no_longer_holds
    assert_match(%r{the position of t/0 is 2 by now, not 1}, give(:seek, args: {to: 4}, expect: {position: 1}).last)
    assert_match(/has moved to this process: it was expected to be with host:2:b/, give(:retry, expect: {process: "host:2:b"}).last)
    assert_match(%r{t/0 has been assigned anew since}, give(:retry, expect: {assigned: Time.now.to_f - 100}).last)
    assert_equal [%w[refused] * 3, :backoff, nil], [@application.told.map { |*, fields| fields[:outcome] }, snapshot.state, @kafka.client.sought]
    assert_equal "done", give(:retry, expect: {process: "host:1:a", assigned: Time.now.to_f, position: 2}).first
  end

  # Between the look and the seek a message may be done.
  def test_a_position_that_moves_just_before_the_seek
    partition = @kafka.partition
    partition.define_singleton_method(:position) { super().tap { progress.complete(3, 0) } }
    assert_equal ["refused", "the position is 3 by now, not 2"], give(:seek, args: {to: 0}, expect: {position: 2})
    assert_equal [:backoff, nil], [snapshot.state, @kafka.client.sought]
  end

  def test_commands_to_the_process
    process = {process: "host:1:a"}
    assert_equal [%w[done] * 3, %i[quiet resume ask_to_stop]],
      [%i[quiet resume stop].map { |action| give(action, target: process).first }, @application.done]
    outcome, reason = give(:trace, target: process)
    assert_equal ["done", "#{Thread.list.size} threads: the log has where each of them is"], [outcome, reason]
    told = @application.told.last.last[:trace].join("\n")
    assert_includes told, "receiver_test.rb"
    refute_includes told, "Partition t/0", "whose error may quote a message: the dashboard shows this to all who may see pages"
    assert_match(%r{receiver_test\.rb.*Partition t/0 backing off}m, @application.log.last)
  end

  def test_a_whole_group
    other = KafkaPartition.new(Fails)
    receive_with(partitions: [@kafka.partition, other.partition])
    assert_match(/\A2 partitions of t: paused until/, give(:pause, target: {group: "group"}, args: {seconds: 10}).last)
    assert_equal [true, true], [@kafka, other].map { |one| one.partition.snapshot.rests.key?(:command) }
  end

  def test_what_is_for_others_is_passed_over
    [{process: "host:1:b"}].each { |target| assert_nil give(:quiet, target:) }
    [{group: "other"}, {group: "group", topic: "u"}, {group: "group", topic: "t", partition: 1}].each { |target| assert_nil give(:retry, target:) }
    assert_empty @application.events
  end

  def test_who_and_why_are_published_and_told
    give(:retry, id: "one")
    received, finished = @application.events
    assert_equal ["command.received", {id: "one", action: :retry, target: "t/0 (group group)", args: {}, by: "ada", why: "try"}], received
    assert_equal ["command.finished", :done], [finished.first, finished.last[:outcome]]
    name, text, fields = @application.told.last
    assert_equal ["outcome", "retry of t/0 (group group): done (ada: try)", "one", "retry", "ada", "try", "t", 0],
      [name, text, *fields.values_at(:command, :action, :by, :why, :topic, :partition)]
  end

  def test_at_most_once_and_never_late
    again = record(command(:pause, args: {seconds: 100}))
    @receiver.receive(again)
    give(:resume)
    @receiver.receive(again)
    assert_equal [2, []], [@application.told.size, snapshot.rests.keys - [:backoff]]
    outcome, reason = give(:pause, read: 40, args: {seconds: 100})
    assert_equal "refused", outcome
    assert_match(/expired: 40 s old/, reason)
    refute snapshot.rests.key?(:command)
    late = record(command(:retry, at: Time.now.to_f - 40), read: 40)
    2.times { @receiver.receive(late) }
    assert_equal 4, @application.told.size, "one that is written again fills no log"
  end

  def test_what_nobody_has_signed_is_reported_once
    2.times { @receiver.receive(record(command(:retry), key: nil)) }
    assert_equal [[], 1, "commands", {topic: "guildhall.commands", offset: 7}],
      [@application.events, @application.errors.size, *@application.errors.last.drop(1)]
    assert_equal :backoff, snapshot.state
  end

  def test_what_is_not_allowed
    receive_with(allow: %i[pause])
    assert_match(/retry is not allowed here/, give(:retry).last)
    assert_equal :backoff, snapshot.state
  end

  def test_what_fails_is_told
    errors = [IOError.new("gone"), NotImplementedError.new]
    @kafka.partition.define_singleton_method(:retry_now) { raise errors.shift }
    assert_equal ["failed", "IOError: gone"], give(:retry)
    assert_match(/\AfailedNotImplementedError/, give(:retry).join)
  end

  # The thread goes on.
  def test_an_outcome_that_cannot_be_told
    @application.define_singleton_method(:event) { |*, **| raise IOError, "closed" }
    give(:retry)
    assert_equal [["closed", "commands", {topic: "guildhall.commands"}]], @application.errors
  end

  # A subscriber of its events may do so, and what is reported may be what cannot be.
  def test_its_thread_goes_on_whatever_happens
    receiver = Commanding::Receiver.new(@application, pauses: Guildhall::GrowingPauses.new(0.001, 0.001))
    steps = [-> { raise IOError, "no" }, -> { Thread.exit }, -> { raise SystemStackError, "deep" }]
    listened = Thread::Queue.new
    receiver.define_singleton_method(:listen) { (step = steps.shift) ? step.call : listened << Thread.current }
    receiver.start
    thread = listened.pop(timeout: 60)
    assert receiver.include?(thread)
    receiver.close(Guildhall::Clock.now + 10)
    assert_equal %w[no deep], @application.errors.map(&:first)
    refute thread.alive?
  end

  def test_the_client_waits_less_than_the_applications_sockets_allow
    config = Guildhall::Kafka::Config.new
    waits = [{}, {"socket.timeout.ms": 5_000}, {"socket.timeout.ms": "1000"}].map do |settings|
      config.kafka = {"bootstrap.servers": "localhost:1", "group.id": "x", **settings}
      Commanding::Receiver.client_settings(config)[:"fetch.wait.max.ms"]
    end
    assert_equal [10_000, 3_000, 1], waits
  end
end
