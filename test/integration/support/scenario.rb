# frozen_string_literal: true

# What every scenario needs: a broker (the one KAFKA_BOOTSTRAP_SERVERS names, else one in this process), topics that
# no other scenario uses, and an application on them. The process ends with status 1 when a check fails.
$VERBOSE = true
require_relative "../../support/default_signals"
DefaultSignals.restore
require_relative "../../support/warnings_raise"
require_relative "../../support/time_limit"
require_relative "../../support/gem_client_ends"
require_relative "../../support/subprocess"
require "guildhall/kafka"
require "guildhall/kafka/testing"
require "guildhall/json"
require "securerandom"
require_relative "account"
require_relative "member"
require_relative "own_broker"
require_relative "proxy"

# One scenario in a process of its own.
class Scenario
  include Subprocess

  COMMAND = File.expand_path("../../../exe/guildhall", __dir__)
  LIMIT = 60 # seconds
  NUMBERS = Guildhall::Kafka::Runtime.instance_method(:initialize).parameters.filter_map { |kind, name| name if kind == :key }.freeze
  # With the embedded broker, a group takes a session time-out to start again after a member has left.
  QUICK = {"session.timeout.ms": 2_000, "heartbeat.interval.ms": 200}.freeze

  # Of a broker, with which members of the consumer protocol are missed, and hear of changes, as soon. SESSION: milliseconds after which they
  # are missed.
  QUICK_GROUPS = {"group.consumer.min.session.timeout.ms" => 1_000, "group.consumer.session.timeout.ms" => Integer(ENV.fetch("SESSION", "6000")),
                  "group.consumer.min.heartbeat.interval.ms" => 100, "group.consumer.heartbeat.interval.ms" => 300}.freeze

  # It keeps 5 MB a partition.
  COMPACT = {"compression.codec": "lz4"}.freeze

  class Failed < StandardError; end

  def self.run(&)
    seed = Integer(ENV.fetch("SEED", Random.new_seed % 100_000)) # of `rand`
    srand(seed)
    $stdout.sync = true # so that of one that never ends it is known how far it came
    Rdkafka::Config.logger = Logger.new($stderr, level: Logger::FATAL)
    scenario = new
    TimeLimit.watch("the scenario", Integer(ENV.fetch("SCENARIO_LIMIT", TimeLimit::SECONDS))) do
      unless consumer_protocol? && !scenario.own_broker(QUICK_GROUPS) # where none can be started, there is nothing to prove
        scenario.instance_eval(&)
        scenario.settle
      end
    end
    puts "ok #{scenario.notes.join(", ")}"
  rescue Failed => error
    raise error, "#{error.message}#{scenario.standstill}"
  ensure
    warn("SEED=#{seed}") if $!
    scenario&.finish
  end

  # PROTOCOL=consumer: the scenario's members use the consumer protocol, of a broker of its own.
  def self.consumer_protocol? = ENV["PROTOCOL"] == "consumer"

  # @param session [Integer] milliseconds, which are the broker's with the consumer protocol, as those of {QUICK_GROUPS}
  # @return [Hash{Symbol=>Object}] librdkafka's settings of a member; with the consumer protocol, what is left of them
  def self.membership(session: 6_000, heartbeat: 300, **settings)
    return {"group.protocol": "consumer"} if consumer_protocol?

    {"session.timeout.ms": session, "heartbeat.interval.ms": heartbeat, **settings}
  end

  attr_reader :notes, :errors, :servers, :embedded

  def initialize
    @embedded = ENV.fetch("KAFKA_BOOTSTRAP_SERVERS", "").empty? ? Guildhall::Kafka::Testing::EmbeddedBroker.start : nil
    @servers = @embedded ? @embedded.bootstrap_servers : ENV.fetch("KAFKA_BOOTSTRAP_SERVERS")
    @id = SecureRandom.hex(4)
    @notes = []
    @errors = Thread::Queue.new
    @account = nil
    @members = []
    @stood_still = 0
    Thread.new { watch_clock }
  end

  # For people who wonder why a membership was lost, and messages were handled twice.
  # @return [String]
  def standstill
    @stood_still > 1 ? " (this process stood still for #{@stood_still.round} s)" : ""
  end

  # @return [Account] what was produced, and what became of it
  def account
    @account ||= Account.new
  end

  # @return [Boolean] whether this is the long form of the scenario, which takes minutes
  def long?
    ENV["LONG"] == "1"
  end

  def group
    "group-#{@id}"
  end

  # From here on.
  def another_group = @id = SecureRandom.hex(4)

  # @return [String] the name of a new topic
  def topic(partitions: 1, name: "topic")
    name = "#{name}-#{@id}-#{SecureRandom.hex(2)}"
    if @embedded
      @embedded.create_topic(name, partitions:)
    else
      client(:admin) { |admin| admin.create_topic(name, partitions, 1).wait(max_wait_timeout_ms: LIMIT * 1_000) }
    end
    name
  end

  # A partition's messages travel together: they are sent when flushed, and the topic is known before, for those that wait
  # for that are let go one by one.
  # @param messages [Enumerable<Hash>] payload:, key:, partition:, headers:
  def produce(name, messages)
    limits = {"linger.ms": 5_000, "message.max.bytes": 10_000_000, "queue.buffering.max.messages": 1_000_000}
    producer = Guildhall::Kafka::Producer.new({"bootstrap.servers": @servers, **limits, **(@embedded ? COMPACT : {})})
    partitions = producer.partition_count(name)
    sent = producer.produce_many_async(messages.map { |message| {topic: name, **message} })
    producer.close
    sent.each(&:wait)
    @embedded&.verify_complete!(name, partitions:)
  end

  # The reader takes nothing more from it, and nobody has said so.
  # @return [Guildhall::Kafka::Reading::PartitionQueue]
  def shut_queue(partition)
    partition.instance_variable_get(:@backlog).instance_variable_get(:@queue).tap { |queue| queue.allow(0, 1) }
  end

  # So many messages to each partition, which the account expects to be handled.
  def produce_to(name, partitions, count, bytes: 10)
    produce(name, (0...(count * partitions)).map { |i| {payload: i.to_s.ljust(bytes), partition: i % partitions} })
    partitions.times { |partition| account.produced(partition, count) }
  end

  # @param pause [Numeric] seconds of work on each message
  # @return [Class] a consumer that keeps the account
  def accounting(pause: 0)
    Member.consumer(account, pause)
  end

  # @return [Class] of a consumer that sends what comes on to another topic, each batch in a transaction
  def copying(target)
    Class.new(Guildhall::Kafka::Consumer) do
      define_method(:consume) do
        transaction do
          messages.each { |message| produce_async(topic: target, payload: message.raw_payload) }
          mark_as_consumed(messages.last)
        end
      end
    end
  end

  # What the command says in a process of its own, which is forked from one that has loaded the framework.
  # @return [Array(String, String, TemplateProcess::Status)] stdout, stderr and status
  def guildhall(*arguments, env: {}) = run_forked(%w[guildhall/cli guildhall/kafka], COMMAND, *arguments, env:)

  # From here on this scenario is on a broker of its own, which it may kill, freeze or configure: others run beside it, on the other one.
  # @param settings [Hash{String=>Object}] of the broker
  # @return [OwnBroker, nil] nil where none can be started: then there is nothing to prove
  def own_broker(settings = {})
    if (missing = BrokerProcess.missing)
      notes << "skipped: #{missing}"
      return
    end
    @own_broker = OwnBroker.new(settings)
    @servers = @own_broker.servers
    @own_broker
  end

  # A member of the group in a process of its own, which keeps the account as well.
  # @param pause [Numeric] seconds of work on each message
  # @param librdkafka [Hash] beside this scenario's
  # @param settings [Hash] of the application
  # @return [Member]
  def member(name, pause: 0, librdkafka: {}, **settings)
    kafka = {**client_settings, **librdkafka}
    Member.new(account: account.path, topic: name, group:, pause:, kafka:, settings:).tap { |member| @members << member }
  end

  # Another member, of this process, that is assigned partitions but handles nothing; it leaves when the block ends.
  # @param kafka [Hash] librdkafka's settings
  # @return [void]
  def visitor(name, kafka)
    client(:consumer, "group.id": group, **kafka, "enable.auto.commit": false) do |consumer|
      consumer.subscribe(name)
      polling = Thread.new { consumer.poll(100) until Thread.current[:stop] }
      yield(consumer)
    ensure
      polling[:stop] = true
      polling.join
    end
  end

  # @param servers [String]
  # @param librdkafka [Hash] beside this scenario's settings
  # @param settings [Hash] of the application; also numbers of {Guildhall::Kafka::Application#initialize}, with which it is made anew: before
  #   routes and subscribers
  def configure(servers: @servers, librdkafka: {}, **settings)
    numbers, settings = settings.partition { |name, _| NUMBERS.include?(name) }.map(&:to_h)
    Guildhall::Kafka.reset(**numbers) if numbers.any?
    Guildhall::Kafka.configure do |config|
      config.kafka = {**client_settings, "bootstrap.servers": servers, **librdkafka}
      config.group_id = group
      config.pause_timeout = 0.05
      config.shutdown_timeout = 20
      settings.each { |name, value| config.public_send("#{name}=", value) }
    end
    errors = @errors
    Guildhall::Kafka.instrumentation.subscribe("error.occurred") { |event| errors << event.payload }
  end

  def routes(&)
    Guildhall::Kafka.routes(&)
  end

  def start
    Guildhall::Kafka.start
  end

  # Time during which this process stood still does not count.
  def stop(timeout: 20)
    before = awake
    clean = Guildhall::Kafka.stop(timeout: timeout + 60)
    check(clean && awake - before < timeout, "not all work was finished within #{timeout} s")
  end

  # Again, as after the process was started again.
  def restart(**settings, &)
    Guildhall::Kafka.reset
    configure(**settings)
    routes(&)
    start
  end

  # @return [Array<Integer, nil>] per partition the offset that the group has committed
  def committed(name, partitions: 1, group: self.group)
    tries = 6
    begin
      # Each time by another client: librdkafka forgets brokers that, just after they stood still, are not in the metadata.
      client(:consumer, "group.id": group) { |consumer| offsets(consumer, name, partitions, 10) }
    rescue Rdkafka::RdkafkaError => error
      raise unless error.code == :timed_out && (tries -= 1).positive?

      retry
    end
  end

  # Kills this scenario's own broker (-9), runs the block, and lets it come back. A broker that was killed comes back without some of its
  # coordinators now and then, for good, and then nobody can commit: it is killed once more.
  # @param topic [String] any that exists
  def kill_broker(topic)
    @own_broker.kill
    yield
    3.times do
      @own_broker.resume
      return if ONE_GROUP_A_COORDINATOR.all? { |group| coordinator?(group, topic) }

      notes << "came back without a coordinator"
      @own_broker.kill
    end
    raise Failed, "the broker comes back without coordinators"
  end

  # For five partitions of __consumer_offsets: groups are dealt by their names' hash code.
  ONE_GROUP_A_COORDINATOR = %w[a b c d e].freeze

  def coordinator?(group, topic, seconds = 30)
    client(:consumer, "group.id": group) do |consumer|
      !!offsets(consumer, topic, 1, seconds)
    rescue Rdkafka::RdkafkaError => error
      notes << error.code
      false
    end
  end

  def offsets(consumer, name, partitions, seconds)
    list = Rdkafka::Consumer::TopicPartitionList.new
    list.add_topic(name, partitions)
    Guildhall::Kafka::Group::Client.ask_coordinator(seconds) { consumer.committed(list, seconds * 1000) }.to_h.fetch(name).map(&:offset)
  end

  # Time during which this process was stopped, on a machine that was suspended, does not count.
  def eventually(what, seconds = LIMIT)
    left = seconds
    until yield
      raise Failed, "not within #{seconds} s: #{what.respond_to?(:call) ? what.call : what}; #{state}" if left.negative?

      before = now
      sleep(0.01)
      left -= [now - before, 1].min
    end
  end

  # How long the block takes, without the time during which this process was stopped.
  # @return [Array(Float, Object)] seconds, and what the block returns
  def timed
    took = 0
    ticker = Thread.new do
      loop do
        before = now
        sleep(0.02)
        took += [now - before, 0.5].min
      end
    end
    answer = yield
    [took, answer]
  ensure
    ticker.kill.join
  end

  # @return [String] for people who look for the reason of a failure
  def state
    partitions = Guildhall::Kafka.application.partitions.map do |one|
      "#{one.inspect} at #{one.read_to.inspect} of #{one.end_offset.inspect}"
    end
    "#{@account} #{@account&.errors}; #{partitions.join("; ")}; errors: #{drain(@errors).last(3).inspect}"
  end

  def eventually_complete(what = "all consumed", seconds = LIMIT)
    eventually(what, seconds) { account.complete? }
  end

  # What the account comes to.
  def settle
    return unless @account

    notes << @account.to_s
    equal([], @account.errors, "errors of the account (#{@account})")
  end

  def watch_clock
    loop do
      before = now
      sleep(0.1)
      @stood_still += now - before if now - before > 1
    end
  end

  def drain(queue)
    Array.new(queue.size) { queue.pop }
  end

  def flunk(message) = raise Failed, message

  def check(condition, message)
    raise Failed, message unless condition
  end

  def equal(expected, actual, what)
    raise Failed, "#{what}: expected #{expected.inspect}, got #{actual.inspect}" unless expected == actual
  end

  def now
    Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end

  # @return [Float] seconds that do not count while this process stands still
  def awake
    now - @stood_still
  end

  def client(kind, **settings)
    client = Rdkafka::Config.new({"bootstrap.servers": @servers, **settings}).public_send(kind)
    yield(client)
  ensure
    client&.close
  end

  # @return [Integer] open file descriptors of this process
  def descriptors
    File.directory?("/proc/self/fd") ? Dir.children("/proc/self/fd").size : 0
  end

  def client_settings
    {"bootstrap.servers": @servers, "auto.offset.reset": "earliest", **(@embedded ? QUICK : {})}
  end

  def finish
    @members.each(&:kill)
    Guildhall::Kafka.stop(timeout: 5) if Guildhall::Kafka.application.running?
    @account&.close
    @embedded&.stop
    @own_broker&.stop
  end
end
