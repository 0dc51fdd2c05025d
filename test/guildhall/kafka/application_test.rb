# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"
require "guildhall/kafka/testing"
require "logger"
require "stringio"

class KafkaApplicationTest < GuildhallTest
  # Stops the application from inside.
  class Stopping < Guildhall::Kafka::Consumer
    ANSWERS = Thread::Queue.new

    def consume
      ANSWERS << self.class::APPLICATION.stop(timeout: 10)
    end
  end

  # Logs as tasks do.
  class Logging < Guildhall::Kafka::Consumer
    def consume = Guildhall.logger.warn("consumed #{messages.size}")
  end

  # Consumes nothing.
  class Idle < Guildhall::Kafka::Consumer
    def consume; end
  end

  def setup
    @broker = Guildhall::Kafka::Testing::EmbeddedBroker.start
    @broker.create_topic("t", partitions: 1)
    @application = Guildhall::Kafka::Application.new
    @application.config.kafka = {"bootstrap.servers": @broker.bootstrap_servers, "auto.offset.reset": "earliest"}
    @application.config.logger = nil
  end

  def teardown
    @application.stop(timeout: 5)
    @broker.stop
  end

  def test_what_names_no_topic_and_no_partition_is_not_asked_for
    ["a\0b", "\xff", "a".encode("UTF-16LE")].each do |name|
      [-> { @application.each_message(name) { flunk } }, -> { @application.dead_letters(name) { flunk } }].each do |ask|
        assert_includes assert_raises(Guildhall::ArgumentError, &ask).message, "topic must be a String of UTF-8 without NUL bytes, not #{name.inspect}"
      end
    end
    [1.., ..1, 1..Float::INFINITY, 1.step, "0"].each do |partitions|
      error = assert_raises(Guildhall::ArgumentError) { @application.each_message("t", partitions:) { flunk } }
      assert_equal "each_message: partitions must be the number of a partition, or an Array of them, or nil, not #{partitions.inspect}", error.message
    end
    [0..0, [0], 0, nil].each { |partitions| assert_empty @application.each_message("t", partitions:).to_a }
  end

  def test_a_consumer_logs_to_the_applications_log
    @application.config.logger = Guildhall::Kafka::Logging.logger(out = StringIO.new)
    @application.routes.draw { topic("t") { consumer Logging } }
    produce
    @application.start
    eventually { out.string.match?(/^\S+Z WARN  consumed 1$/) }
  end

  def test_a_listener_whose_thread_is_ended_begins_again
    errors = Thread::Queue.new
    assigned = Thread::Queue.new
    @application.config.kafka[:"session.timeout.ms"] = 1_000 # the embedded broker's groups restart after one session
    @application.routes.draw { topic("t") { consumer Idle } }
    @application.instrumentation.subscribe("error.occurred") { |event| errors << event.payload[:error] }
    @application.instrumentation.subscribe("rebalance.partitions_assigned") { |event| assigned << event.payload[:partitions] }
    @application.start
    assert assigned.pop(timeout: 60)
    @application.listeners.first.request { Thread.exit }
    assert_instance_of Guildhall::TaskError, errors.pop(timeout: 60)
    assert_equal [["t", 0]], assigned.pop(timeout: 60)
  end

  def test_a_subscriber_that_ends_its_thread_keeps_neither_quiet_nor_the_stop_from_happening
    @application.routes.draw { topic("t") { consumer Idle } }
    %w[app.quiet app.stopping].each { |name| @application.instrumentation.subscribe(name) { Thread.exit } }
    @application.start
    eventually { @application.partitions.any? }
    Thread.new { @application.quiet }.join
    assert_predicate @application.partitions.first, :paused?
    listeners = @application.listeners
    Thread.new { @application.stop(timeout: 20) }.join
    assert_equal [true, :stopped], [listeners.all?(&:ended?), @application.state]
  end

  def test_what_nobody_waits_for_is_forgotten_once_it_has_arrived
    waiting, arrived = [true, false].map { |pending| Struct.new(:pending?).new(pending) }
    @application.abandon(waiting)
    4_000.times { @application.abandon(arrived) }
    abandoned = @application.instance_variable_get(:@producers).instance_variable_get(:@abandoned)
    assert_operator abandoned.size, :<, 2_000
    assert_includes abandoned, waiting
  end

  # Of the next producer's messages as many would be dropped, and would count as delivered.
  def test_what_nobody_waits_for_is_forgotten_with_its_producer
    @application.producer
    handle = Object.new.tap { |one| one.define_singleton_method(:pending?) { true } }
    @application.abandon(handle)
    producers = @application.instance_variable_get(:@producers)
    assert producers.close(Guildhall::Clock.now + 30)
    @broker.suspend
    @application.producer.produce_async(topic: "t", payload: "x")
    refute producers.close(Guildhall::Clock.now + 1)
  end

  def test_a_consumer_that_stops_the_application_does_not_wait_for_itself
    Stopping.const_set(:APPLICATION, @application)
    @application.routes.draw { topic("t") { consumer Stopping } }
    @application.start
    produce
    refute Stopping::ANSWERS.pop(timeout: 30)
    assert @application.wait_stopped(20)
  end

  # The server has one, beside the application's own.
  def test_each_block_learns_of_a_failure
    called = []
    errors = []
    @application.instrumentation.subscribe("error.occurred") { |event| errors << event.payload.slice(:type, :message) }
    @application.on_failure { (called << 1) && raise("first") }
    @application.on_failure { called << 2 }
    @application.failed
    assert_equal [[1, 2], ["on_failure"]], [called, errors.map { |error| error[:type] }]
  end

  def test_a_subscriber_may_stop_the_application
    @application.routes.draw { topic("t") { consumer Idle } }
    answers = Thread::Queue.new
    @application.instrumentation.subscribe("rebalance.partitions_assigned") { answers << @application.stop(timeout: 10) }
    @application.start
    refute answers.pop(timeout: 30)
    assert @application.wait_stopped(20)
  end

  def test_a_subscriber_in_the_background_may_stop_the_application
    @application.routes.draw { topic("t") { consumer Idle } }
    @application.start
    answers = Thread::Queue.new
    @application.instance_variable_get(:@runtime).in_background { answers << @application.stop(timeout: 60) }
    assert_equal false, answers.pop(timeout: 60)
    assert @application.wait_stopped(20)
    assert @application.stop
  end

  # The gem's thread that hears of it is one that the producer waits for when it is closed.
  def test_a_subscriber_that_hears_of_an_undelivered_message_may_stop_the_application
    @application.config.kafka = {"bootstrap.servers": "127.0.0.1:1"}
    @application.config.producer = {"message.timeout.ms": 100}
    answers = Thread::Queue.new
    @application.instrumentation.subscribe("error.occurred") { answers << @application.stop(timeout: 60) }
    @application.producer.produce_async(topic: "t", payload: "x")
    assert_equal false, answers.pop(timeout: 60)
  end

  def test_quiet_that_is_taken_back_at_once_leaves_nothing_paused
    @application.routes.draw { topic("t") { consumer Idle } }
    @application.start
    eventually { @application.partitions.any? }
    @application.instrumentation.subscribe("app.quiet") { @application.resume } # as another thread might
    @application.quiet
    assert_equal [false, []], [@application.quiet?, @application.partitions.select(&:paused?)]
  end

  def test_what_could_not_be_started_leaves_nothing_and_can_be_started_again
    idle = Class.new(Idle) # whose periods are asked for when everything else has begun
    @application.routes.draw { topic("t") { consumer idle } }
    def idle.periods = raise("no")
    assert_equal "no", assert_raises(RuntimeError) { @application.start }.message
    assert_equal :initialized, @application.state
    assert_empty(Thread.list.filter_map(&:name).grep(/guildhall (runner|listener|timer)/))
    idle.singleton_class.remove_method(:periods)
    @application.start
    eventually { @application.partitions.any? }
  end

  def test_a_stop_during_the_start_leaves_nothing_running
    during_start do |starter, gate|
      stopper = Thread.new { @application.stop(timeout: 60) }
      eventually { %i[stopping stopped].include?(@application.state) }
      gate << true
      assert_same @application, ended(starter)
      assert ended(stopper)
      assert_equal :stopped, @application.state
      assert_empty(Thread.list.filter_map(&:name).grep(/guildhall (runner|listener|timer)/))
    end
    @application.start
    assert_predicate @application, :running?
  end

  def test_a_stop_does_not_wait_longer_than_it_may_for_a_start_that_hangs
    during_start do |starter, gate|
      refute @application.stop(timeout: 0.1)
      assert_equal :stopping, @application.state
      gate << true
      assert_same @application, ended(starter)
      assert_equal :stopped, @application.state
    end
  end

  def test_a_start_may_be_stopped_from_inside
    answers = []
    @application.routes.draw { topic("t") { consumer Idle } }
    @application.advise { answers << @application.stop(timeout: 60) }
    @application.start
    assert @application.wait_stopped(20)
    assert_equal [false], answers
  end

  def test_who_waits_for_the_end_of_a_start_that_fails_is_woken
    during_start do |starter, gate|
      waiter = Thread.new { @application.wait_stopped }
      eventually { waiter.stop? }
      def @application.stop_at_exit = raise("no")
      gate << true
      assert_equal "no", assert_raises(RuntimeError) { ended(starter) }.message
      assert ended(waiter)
    end
  end

  def test_advice_that_raises_is_reported_and_stops_nothing
    advised = []
    errors = []
    @application.instrumentation.subscribe("app.advised") { |event| advised << event.payload[:message] }
    @application.instrumentation.subscribe("error.occurred") { |event| errors << event.payload.values_at(:type, :message) }
    @application.routes.draw { topic("t") { consumer Idle } }
    @application.advise { raise NotImplementedError, "no pool" }
    @application.advise { ["too few connections"] }
    @application.start
    assert_predicate @application, :running?
    assert_equal [["too few connections"], [["advise", "no pool"]]], [advised, errors.first(1)]
  end

  # Which may have requests to answer meanwhile.
  def test_the_collector_of_a_process_that_is_not_ours_stays_as_it_is
    advised = []
    @application.instrumentation.subscribe("app.advised") { |event| advised << event.payload[:message] }
    @application.config.garbage_collection = :deferred
    @application.routes.draw { topic("t") { consumer Idle } }
    @application.start
    assert_nil @application.report["full_collections"]
    reason = Guildhall::Kafka::Runtime::FullCollections.refusal || "the process is not Guildhall's own, as with `guildhall server`"
    assert_equal ["config.garbage_collection = :deferred has no effect: #{reason}"], advised
    assert GC.config.fetch(:rgengc_allow_full_mark, true)
  end

  def test_full_collections_are_put_off_in_a_process_of_ours_while_it_runs
    skip Guildhall::Kafka::Runtime::FullCollections.refusal if Guildhall::Kafka::Runtime::FullCollections.refusal

    @application.config.garbage_collection = :deferred
    @application.own_process = {processes: 2, own: 1 << 40}
    @application.routes.draw { topic("t") { consumer Idle } }
    @application.start
    refute GC.config[:rgengc_allow_full_mark]
    report = @application.report["full_collections"]
    assert_equal ["deferred", %w[idle memory time], true, true],
      [report["state"], report["run"].keys, report["seconds"].is_a?(Float), report["put_off"].is_a?(Integer)]
    @application.stop
    assert GC.config[:rgengc_allow_full_mark]
  end

  def test_metrics_that_cannot_be_had_leave_nothing_and_it_can_be_started_again
    @application.routes.draw { topic("t") { consumer Idle } }
    application = @application
    2.times do
      def application.measure = raise("no metrics")
      assert_equal "no metrics", assert_raises(RuntimeError) { application.start }.message
      assert_equal [:initialized, []], [application.state, application.members]
      application.singleton_class.remove_method(:measure)
      application.start
      assert application.stop(timeout: 60)
    end
  end

  def test_threads_that_need_the_pool_at_once_get_the_same_one
    pools = at_once(Guildhall::Pool, :new) { @application.pool }
    assert_same(*pools)
    assert @application.stop # which was never started
    refute_same pools.first, @application.pool
  end

  def test_metrics_that_are_begun_twice_at_once_count_once
    recorded = []
    @application.config.metrics = [Class.new { define_method(:record) { |metric, *| recorded << metric.name } }.new]
    at_once(@application.config.metrics, :dup) { @application.send(:measure) }
    @application.error(RuntimeError.new("no"), "test")
    assert_equal ["errors"], recorded
  end

  RATES = {"EUR" => 1.1} # rubocop:disable Style/MutableConstant -- that is what workers cannot run
  USES_RATES = Guildhall::JSON.lazy >> Guildhall.map { |document| RATES[document["a"]] }

  def test_only_the_first_process_of_a_swarm_says_what_is_true_of_all
    [nil, 1, 2].each do |number|
      application = Guildhall::Kafka::Application.new
      application.config.kafka = {"bootstrap.servers": "127.0.0.1:1"}
      application.config.logger = nil
      application.process_number = number if number
      told = []
      application.instrumentation.subscribe("app.advised") { |event| told << event.payload.slice(:about, :group, :topic).compact }
      application.advise { ["too few connections"] }
      application.routes.draw { topic("t") { consumer(Idle) && deserializer(USES_RATES) } }
      test = self
      application.define_singleton_method(:new_runtime) do |topics|
        test.send(:without_brokers, super(topics)) { told << :checked }
      end
      application.start
      application.stop(timeout: 5)
      expected = number == 2 ? [] : [{about: :settings}, {about: :deserializing, group: application.config.group_id, topic: "t"}, :checked]
      assert_equal expected, told, number.inspect
    end
  end

  def test_an_error_in_the_background_is_reported_and_stop_works
    errors = Thread::Queue.new
    @application.instrumentation.subscribe("error.occurred") { |event| errors << event.payload.values_at(:type, :message) }
    @application.routes.draw { topic("t") { consumer Idle } }
    @application.start
    @application.instance_variable_get(:@runtime).in_background { raise NotImplementedError, "broken" }
    assert_equal %w[background broken], errors.pop(timeout: 60)
    assert @application.stop(timeout: 60)
  end

  def test_it_can_be_started_again_after_a_stop
    consumed = Thread::Queue.new
    counting = Class.new(Guildhall::Kafka::Consumer) { define_method(:consume) { consumed << messages.size } }
    @application.config.kafka[:"session.timeout.ms"] = 2_000
    @application.routes.draw { topic("t") { consumer counting } }
    2.times do
      @application.start
      produce
      assert consumed.pop(timeout: 60)
      assert_raises(Guildhall::Error) { @application.start }
      assert @application.stop(timeout: 60)
      assert_equal [:stopped, []], [@application.state, @application.unfinished]
    end
  end

  def test_settings_and_routes_that_come_too_late_are_refused
    Guildhall::Kafka.reset
    Guildhall::Kafka.configure { |config| config.kafka = @application.config.kafka }
    Guildhall::Kafka.routes { topic("t") { consumer Idle } }
    Guildhall::Kafka.start
    [-> { Guildhall::Kafka.configure { nil } }, -> { Guildhall::Kafka.routes { topic("u") { consumer Idle } } }].each do |late|
      assert_raises(Guildhall::Kafka::ApplicationStateError, &late)
    end
    assert_equal ["t"], Guildhall::Kafka.routes.topics.map(&:name)
  ensure
    Guildhall::Kafka.stop
    Guildhall::Kafka.reset
  end

  def test_a_subscriber_of_the_stop_itself_may_stop_the_application
    @application.routes.draw { topic("t") { consumer Idle } }
    answers = []
    @application.instrumentation.subscribe("app.stopping") { answers << @application.stop(timeout: 10) }
    @application.start
    assert @application.stop(timeout: 60)
    assert_equal [false], answers
  end

  def test_a_stop_whose_caller_is_interrupted_goes_on_and_another_one_keeps_its_own_deadline
    began = Thread::Queue.new
    finish = Thread::Queue.new
    waiting = Class.new(Guildhall::Kafka::Consumer) { define_method(:consume) { (began << true) && finish.pop } }
    @application.routes.draw { topic("t") { consumer waiting } }
    @application.start
    produce
    assert began.pop(timeout: 60)
    caller = Thread.new { @application.stop(timeout: 60) }
    caller.report_on_exception = false
    eventually { @application.state == :stopping }
    caller.raise(Interrupt)
    assert_raises(Interrupt) { caller.join(30) }
    refute @application.stop(timeout: 0.1)
    finish << true
    assert @application.wait_stopped(30)
    assert_empty @application.unfinished
  end

  def test_stop_works_in_a_trap
    @application.routes.draw { topic("t") { consumer Idle } }
    @application.start
    answers = Thread::Queue.new
    previous = trap("USR2") { answers << @application.stop(timeout: 10) }
    Process.kill(:USR2, Process.pid)
    refute answers.pop(timeout: 10)
    assert @application.wait_stopped(20)
  ensure
    trap("USR2", previous || "DEFAULT")
  end

  # The timer's thread measures the lag.
  def test_a_subscriber_that_hangs_does_not_hold_up_the_stop_beyond_its_deadline
    kafka = @application.config.kafka
    @application = Guildhall::Kafka::Application.new(lag_interval: 0.02)
    @application.config.kafka = kafka
    @application.config.logger = nil
    measuring = Thread::Queue.new
    gate = Thread::Queue.new
    @application.routes.draw { topic("t") { consumer Idle } }
    @application.instrumentation.subscribe("lag.measured") { (measuring << true) && gate.pop }
    @application.start
    assert measuring.pop(timeout: 60)
    stopper = Thread.new { @application.stop(timeout: 2) }
    assert_equal false, ended(stopper)
  ensure
    gate.close
  end

  # The first hears what it hears before the run has ended, the second afterwards.
  def test_a_subscriber_of_the_stop_that_hangs_is_given_up_on
    {"app.stopping" => false, "app.stopped" => true}.each do |name, clean|
      application = Guildhall::Kafka::Application.new
      application.config.kafka = @application.config.kafka.dup
      application.config.logger = nil
      application.routes.draw { topic("t") { consumer Idle } }
      gate = Thread::Queue.new
      errors = Thread::Queue.new
      application.instrumentation.subscribe(name) { gate.pop }
      application.instrumentation.subscribe("error.occurred") { |event| errors << event.payload.slice(:type, :message) }
      application.start
      listeners = application.listeners
      stopper = Thread.new { application.stop(timeout: 4) }
      assert_equal [clean, :stopped, true], [ended(stopper), application.state, listeners.all?(&:ended?)], name
      error = errors.pop(timeout: 60)
      assert_equal "stop", error[:type]
      assert_match(/\Aa subscriber of #{name} has not returned within \d\.\d s: the application is stopped without waiting for it\z/, error[:message])
    ensure
      gate.close
    end
  end

  # Such as one of the pool's events.
  def test_a_stop_that_hangs_is_not_waited_for
    gate = Thread::Queue.new
    @application.routes.draw { topic("t") { consumer Idle } }
    @application.start
    @application.pool.instrumentation.subscribe("pool.shut_down") { gate.pop }
    stopper = Thread.new { @application.stop(timeout: 1) }
    assert_equal false, ended(stopper)
    gate.close
    assert @application.wait_stopped(20)
  ensure
    gate.close
  end

  def test_what_is_no_time_is_refused
    ["5", -1, Float::NAN, 1i, true, false].each do |timeout|
      [-> { @application.stop(timeout:) }, -> { @application.wait_stopped(timeout) }].each do |call|
        error = assert_raises(Guildhall::ArgumentError, &call)
        assert_equal "timeout must be 0 or more seconds, not #{timeout.inspect}", error.message
      end
    end
  end

  def test_it_can_be_waited_for_without_an_end
    @application.routes.draw { topic("t") { consumer Idle } }
    @application.start
    waiting = Thread.new { @application.wait_stopped(Float::INFINITY) }
    waiting.report_on_exception = false
    eventually { waiting.stop? }
    assert @application.stop(timeout: Float::INFINITY)
    assert ended(waiting)
  end

  # No lock can be taken there.
  def test_what_a_trap_cannot_call_says_what_to_do
    calls = {check!: [], start: [], wait_stopped: [], quiet: [], resume: [], partitions: [], producer: [], lag: [], parked_keys: [],
             dead_letters: ["t"], each_message: ["t"], scheduled_tasks: [], switch_task: ["task", true], run_task: ["task"]}
    answers = Thread::Queue.new
    previous = trap("USR2") do
      calls.each do |name, arguments|
        answers << [name, @application.public_send(name, *arguments)]
      rescue ThreadError => error
        answers << [name, error]
      end
    end
    Process.kill(:USR2, Process.pid)
    calls.each_key do |name|
      asked, answer = answers.pop(timeout: 60)
      assert_instance_of Guildhall::SignalTrapError, answer, asked
      assert_equal "this cannot be called in a signal's trap, where no lock can be taken: call it in another thread, such as one that " \
                   "waits on a Thread::Queue for the trap's message", answer.message
      assert_equal name, asked
    end
  ensure
    trap("USR2", previous || "DEFAULT")
  end

  def test_a_subscriber_that_raises_anything_breaks_nothing
    kafka = @application.config.kafka
    @application = Guildhall::Kafka::Application.new(lag_interval: 0.02)
    @application.config.kafka = kafka
    consumed = Thread::Queue.new
    counting = Class.new(Guildhall::Kafka::Consumer) { define_method(:consume) { consumed << messages.map(&:offset) } }
    @application.routes.draw { topic("t") { consumer counting } }
    @application.config.logger = Logger.new(@log = StringIO.new)
    @application.config.commit_interval = 0.05
    measured = 0
    @application.instrumentation.subscribe("lag.measured") { measured += 1 }
    @application.instrumentation.subscribe { |event| raise NotImplementedError, "abstract #{event.name}" }
    @application.start
    produce
    assert_equal [0], consumed.pop(timeout: 60)
    seen = measured
    eventually { measured > seen + 2 }
    eventually { committed == 1 }
    assert @application.stop(timeout: 60)
    assert_empty consumed
    %w[lag.measured consumer.consumed rebalance.partitions_assigned app.stopped].each do |name|
      assert_equal 1, @log.string.scan("a subscriber of #{name} raised NotImplementedError: abstract #{name}").size.clamp(0, 1), name
    end
  end

  def test_a_stop_that_is_too_short_names_the_partitions_that_were_at_work
    began = Thread::Queue.new
    hanging = Class.new(Guildhall::Kafka::Consumer) { define_method(:consume) { began << sleep } }
    start = Thread::Queue.new
    @application.config.revocation_timeout = 0
    hanging.define_method(:initialized) { start << true }
    @application.routes.draw { topic("t") { consumer hanging } }
    @application.start
    produce
    assert start.pop(timeout: 60)
    eventually { @application.partitions.any?(&:working?) }
    refute @application.stop(timeout: 2)
    assert_equal ["t/0"], @application.unfinished
    refute @application.stop, "asked again, it says the same"
  end

  private

  # @yieldparam starter [Thread] that is in the middle of a start, where an adviser is asked
  # @yieldparam gate [Thread::Queue] on which the adviser waits
  def during_start
    asked = Thread::Queue.new
    gate = Thread::Queue.new
    @application.routes.draw { topic("t") { consumer Idle } }
    @application.advise { (asked << true) && gate.pop && [] }
    starter = Thread.new { @application.start }
    starter.report_on_exception = false
    assert asked.pop(timeout: 60)
    yield starter, gate
  ensure
    gate.close
  end

  # Two threads call the block; where it calls a method of the object, it waits until both threads wait, be it for each other.
  # @return [Array<Object>] what the block returned
  def at_once(object, method, &block)
    gate = Thread::Queue.new
    object.define_singleton_method(method) { |*arguments, **keywords| gate.pop || super(*arguments, **keywords) }
    threads = Array.new(2) { Thread.new(&block) }
    eventually { threads.all?(&:stop?) }
    gate.close
    threads.map { |thread| ended(thread) }
  ensure
    object.singleton_class.remove_method(method)
  end

  # @return [Object] what the thread's block returned
  def ended(thread)
    assert thread.join(60)
    thread.value
  end

  # A run whose threads do nothing, and whose routes' workers cannot do what is wanted.
  def without_brokers(runtime, &on_check)
    runtime.define_singleton_method(:create_members) { [] }
    runtime.define_singleton_method(:check_targets, &on_check)
    runtime.define_singleton_method(:in_background) { |&work| Thread.new(&work).join }
    runtime.define_singleton_method(:begin_timing) { timer.define_singleton_method(:after) { |_seconds, &work| work.call } }
    runtime
  end

  def committed
    consumer = Rdkafka::Config.new("bootstrap.servers": @broker.bootstrap_servers, "group.id": "guildhall").consumer
    list = Rdkafka::Consumer::TopicPartitionList.new.tap { |one| one.add_topic("t", 1) }
    consumer.committed(list, 5_000).to_h.fetch("t").first.offset
  ensure
    consumer&.close
  end

  def produce
    producer = Rdkafka::Config.new("bootstrap.servers": @broker.bootstrap_servers).producer
    producer.produce(topic: "t", payload: "x").wait
  ensure
    producer&.close
  end
end
