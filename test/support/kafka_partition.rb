# frozen_string_literal: true

require "guildhall/kafka"
require "guildhall/kafka/testing/offline_topic"

# A partition without a broker: what is fed to it is consumed by the test's own thread, one job after the other.
class KafkaPartition
  # Notes what is stored and committed.
  class Client
    attr_reader :stored, :committed_to, :renewed, :sought
    attr_accessor :kept, :commit_error

    def initialize
      @stored = []
      @committed_to = []
      @renewed = []
      @kept = [nil, nil]
    end

    def store(_topic, _partition, offset, metadata = nil) = !!(@stored << [offset, metadata])

    def commit(**)
      raise @commit_error if @commit_error

      true
    end

    def commit_to(_topic, _partition, *rest) = @committed_to << rest
    def renew_metadata(_topic, _partition, *rest) = @renewed << rest
    def forget_metadata(*) = @renewed.clear
    def committed(*) = @kept
    def end_offset(*) = nil
    def position(*) = nil
    def resolve(_topic, _partition, where) = where
    def seek(_topic, _partition, offset) = @sought = offset
    def group_metadata = Metadata.new
  end

  # Of the group.
  class Metadata
    def destroy = nil
  end

  Offline = Guildhall::Kafka::Testing::Offline

  # @return [Offline::Timer] one for which time passes however long it takes
  def self.timer = Offline::Timer.new(longest: Float::INFINITY)

  # What a partition needs of a run: keeps what happens, and time passes however long it takes.
  class Runtime < Offline::Runtime
    attr_writer :quiet
    attr_reader :events, :dead_letters

    # @param transactional_producers [#call, nil] takes a transactional id
    def initialize(topic, transactional_producers, **settings)
      config = Guildhall::Kafka::Config.new
      config.pause_timeout = 0.0001
      config.pause_max_timeout = 0.001
      settings.each { |name, value| config.public_send(:"#{name}=", value) }
      super(topic, self, config:, timer: KafkaPartition.timer)
      @transactional_producers = transactional_producers
      @events = []
      @dead_letters = []
      @producer = Producer.new(self)
    end

    def transactional_producer(id) = @transactional_producers.call(id)
    def consumer_class(declared) = declared
    def process_name = "web-1:7:a"
    def quiet? = @quiet || false
    def instrumentation = self
    def listening?(_name) = true
    def publish(name, **payload) = @events << [name, payload]
    def error(error, type, **payload) = @errors << [error, type, payload]
  end

  # Takes dead letters.
  class Producer
    HANDLE = Class.new { def await(*) = nil }.new
    FAILING = Class.new { def await(*) = raise(Guildhall::Kafka::ProduceError.of(-192, "t")) }.new
    # Which dead letters do not arrive, by their keys, the first time that they are sent.
    attr_writer :failing
    attr_accessor :down

    def initialize(application)
      @application = application
      @failing = []
    end

    def wait_seconds = 1

    def start(dead_letter)
      raise Guildhall::Kafka::ProduceError.of(@down == true ? -195 : @down, dead_letter[:topic]) if @down

      @application.dead_letters << dead_letter
      @failing.delete(dead_letter[:key]) ? FAILING : HANDLE
    end
  end

  # One message as it was read.
  Record = Struct.new(:offset, :raw_payload, :key, :timestamp) do
    def self.bytes(records) = records.sum { |record| record.raw_payload.to_s.bytesize }
    def tombstone? = raw_payload.nil?
    def topic = "t"
    def partition = 0
    def headers = {}
    def decode_error = nil
    def deferred? = true
  end

  attr_reader :application, :client, :listener, :partition

  # @param consumer [Class]
  # @param client [Client]
  # @param transactional_producers [#call, nil] takes a transactional id
  # @param settings [Hash] of the application
  # @yield the route, as in `topic "t" do … end`
  def initialize(consumer, client: Client.new, transactional_producers: nil, **settings, &route)
    errors = Guildhall::Kafka::Config::Problems.new
    builder = Guildhall::Kafka::Routing::TopicBuilder.new("t", "group", errors)
    builder.consumer(consumer)
    builder.instance_eval(&route) if route
    topic = builder.build
    errors.raise!
    @client = client
    @application = Runtime.new(topic, transactional_producers, **settings)
    @listener = Offline::Listener.new(@client)
    @partition = Guildhall::Kafka::Partition.new(topic, "t", 0, @listener, @application)
    @partition.begin
  end

  # @param offsets [Enumerable<Integer>]
  # @param time [Time, nil] when they were written
  # @yieldparam offset [Integer]
  # @yieldreturn [String] the payload
  # @return [self]
  def deliver(offsets, time: Time.at(0))
    deliver_records(offsets.map { |offset| Record.new(offset, block_given? ? yield(offset) : offset.to_s, "k#{offset}", time) })
  end

  # @param pairs [Array<Array(String, String)>] keys and payloads, from offset 0 on
  def deliver_keyed(pairs) = deliver_records(pairs.each_with_index.map { |(key, payload), offset| Record.new(offset, payload, key, Time.at(0)) })

  def deliver_records(records)
    @partition.deliver(records, Record.bytes(records))
    self
  end

  # @param limit [Integer] jobs that are run at most
  # @return [Boolean] whether nothing is left to be done
  def work(limit = 100_000)
    limit.times do
      next if run_next
      return true unless @application.timer.pass
    end
    false
  end

  # Runs what can be run now; does not let time pass.
  # @return [void]
  def work_now
    nil while run_next
  end

  # @return [Boolean] whether there was something to run
  def run_next
    job = @listener.requests.shift || @application.runners.jobs.shift or return false
    job.respond_to?(:run) ? job.run : job.call
    true
  end

  # @return [Integer, nil] what would be committed
  def committed
    @partition.store
    @client.stored.last&.first
  end

  # @return [Array<Integer>] offsets of the dead letters, in order
  def dead
    @application.dead_letters.map { |dead_letter| Integer(dead_letter[:headers]["source_offset"]) }
  end

  # @return [Array<Exception>] what was reported
  def errors
    @application.errors.map(&:first)
  end
end
