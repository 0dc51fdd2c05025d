# frozen_string_literal: true

require "guildhall/web"
require "guildhall/kafka/commanding/commander"
require "support/plain_record"

# What brokers have answered, in place of Guildhall::Web::Cluster.
class RecordedCluster
  Admin = Guildhall::Kafka::Admin
  Broker = Guildhall::Kafka::Broker
  # A name of a group that would be a script, and the other way round.
  STRANGE = "<script>alert(1)</script>\u202e"
  LONG = "warehouse.inventory-adjustments.from-suppliers.in-northern-europe.v2"

  # @return [Integer] messages that wait in the first partition
  attr_accessor :waiting
  # @return [#view] what processes have reported, such as {RecordedReports}
  attr_accessor :reported
  # @return [String, nil] of a job with dead letters
  attr_accessor :note
  # @return [Array<Guildhall::Kafka::Routing::Topic>]
  attr_reader :routes

  # @param routes [Array<Guildhall::Kafka::Routing::Topic>]
  def initialize(routes = [])
    @routes = routes
    @waiting = 20
  end

  def reports(**) = (@reported ||= Guildhall::Web::Reports::Store.new.tap { |store| store.problem = Guildhall::Kafka::UnknownTopicError.new(reports_topic, []) }).view
  def reports_topic = "guildhall.reports"

  # One that nobody has answered, by somebody with a strange name.
  def commands(_commander)
    make = Guildhall::Kafka::Commanding::Command.method(:make)
    command = make.call(action: :pause, target: {group: STRANGE, topic: LONG, partition: 0}, by: STRANGE, why: "w" * 300, id: "1", args: {seconds: 600})
    [Guildhall::Kafka::Commanding::Commander::Sent.new(command:, at: Time.at(1_700_000_000), signed: nil)]
  end

  def own_groups = ["shop"]
  def letter_topics = Guildhall::Kafka::DeadLetterQueue::LetterTopics.new(@routes)
  def routes_of(name) = @routes.select { |route| route.name == name }
  def decoded?(name) = routes_of(name).any?(&:deserializer)
  def groups = Broker::Answer.new([group("shop", :empty, []), group(STRANGE, :stable, nil)], [])
  def group(name, state = :stable, members = []) = Admin::Groups::Group.new(name:, state:, protocol: :consumer, assignor: nil, coordinator: nil, members:)

  def lag(_group = nil)
    rows = [["orders", 0, 10, 10 + waiting, waiting, 400.0], ["orders", 1, 50, 40, 0, 0.0]].map do |topic, partition, committed, end_offset, messages, seconds|
      Broker::LagWatch::Row.new(group: "shop", topic:, partition:, committed:, end_offset:, messages:, seconds:, rate_in: nil, rate_out: nil)
    end
    error = Guildhall::Kafka::KafkaError.new(29, "TOPIC_AUTHORIZATION_FAILED", "grant DESCRIBE on topic <b>")
    Broker::Answer.new(rows, [Broker::Problem.new(group: "shop", topic: "secret", partitions: nil, error:)])
  end

  def topics = ["orders", *(LONG if @routes.any?)].map { |name| topic(name) }

  def topic(name)
    known = ["orders", LONG, *@routes.filter_map(&:dead_letter_topic)]
    raise Guildhall::Kafka::UnknownTopicError.new(name, known) unless known.include?(name)

    partition = Admin::Topics::Partition.new(number: 0, leader: nil, replicas: [1, 2], in_sync: [1], offsets: 0...30)
    setting = Admin::Topics::Setting.new(name: "retention.ms", value: "60000", source: :topic, read_only: false, sensitive: false)
    Admin::Topics::Topic.new(name:, id: "x", internal: false, partitions: [partition], settings: {"retention.ms" => setting})
  end

  def batches = []
  def batch(_id) = nil
  def cluster = raise(Guildhall::Kafka::UnreachableError.new(-195, "_TRANSPORT", "Kafka at nowhere does not answer"))
  def forget = nil
  def offsets(_group, _topic) = Broker::Answer.new([], [])

  # The first was never run, the others have failed.
  def tasks
    @routes.flat_map { |route| route.scheduled_tasks.to_a.map { |task| [route, task] } }.each_with_index.map do |(topic, task), index|
      run = Guildhall::Kafka::Scheduling::State::Run.new(id: "1", due: 1_700_000_000.0, state: :failed, at: 1_700_000_001.0, by: "host.example:4711",
        error: "RuntimeError: #{"the database is locked " * 10}")
      Guildhall::Kafka::Scheduling::Status.new(task:, topic:, enabled: true, run: index.zero? ? nil : run)
    end
  end

  # Messages with a long key, without a payload, and one that cannot be decoded.
  def search(topic, **)
    records = {0 => ["k" * 120, %({"total":#{"1" * 200},"note":"Straße"})], 1 => ["key", nil], 2 => ["key", "{broken"]}.map do |offset, (key, raw_payload)|
      PlainRecord.new(topic:, partition: 0, offset:, timestamp_ms: 1_700_000_000_000 + offset, key:, raw_payload:, headers: {"trace" => "4bf92f" * 20})
    end
    Looking.new(records)
  end

  def dead_letters(_name) = yield(Letters.new(note))

  Looking = Data.define(:records) do
    def run
      records.each do |record|
        failure = Guildhall::DecodeError.new("it ends too early") if record.offset == 2
        yield Broker::Search::Found.new(record:, payload: nil, failure:)
      end
      place = Broker::Search::Place.new(number: 0, from: 0, to: 30, position: 30, messages: 30, bytes: 4_000)
      Broker::Search::Progress.new(places: [place], found: records.size, undecodable: 1, seconds: 0.1, stopped_by: nil)
    end
  end

  # One letter of each kind: with all headers, and with none.
  class Letters
    WITH = {"source_topic" => LONG, "source_partition" => "0", "source_offset" => "17", "source_consumer_group" => "shop", "source_attempts" => "1",
            "source_error_class" => "KeyError", "source_error_place" => "app/consumers/adjustments_consumer.rb:7:in 'AdjustmentsConsumer#consume'"}.freeze
    Mark = Data.define(:found) do
      def of(_offset) = found
    end

    # @return [String, nil]
    attr_reader :noted

    def initialize(noted) = @noted = noted
    def name = "dead"
    def ranges(*) = {0 => 0...2}
    def marks(_numbers) = {0 => Mark.new(nil)}

    def each(number, offsets)
      offsets.each do |offset|
        headers = offset.zero? ? WITH : {}
        yield Guildhall::Kafka::DeadLetterQueue::DeadLetter.new(topic: "dead", partition: number, offset:, time: Time.at(1_700_000_000 + offset), key: "k" * 120,
          payload: "{}", headers:)
      end
    end
  end
end
