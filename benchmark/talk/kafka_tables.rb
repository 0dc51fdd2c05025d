# frozen_string_literal: true

require_relative "support"
require_relative "../kafka/topics"
require_relative "../kafka/avro_topics"
require_relative "../kafka/race"

# What the four tables with a real broker have in common.
class KafkaTables
  COUNTS = {1 => 100_000, 1.7 => 60_000, 5 => 40_000, 6 => 40_000, 25 => 12_000, 64 => 4_000, 100 => 3_000, 163 => 2_000}.freeze

  AVRO_SLOWER = 4 # times as slow as the JSON gem: the gem avro

  attr_reader :bench

  # @yieldparam tables [KafkaTables]
  def self.script(title)
    servers = ENV.fetch("KAFKA_BOOTSTRAP_SERVERS", "")
    abort("bin/bench #{title}: needs a real broker; KAFKA_BOOTSTRAP_SERVERS says where it is") if servers.empty?
    Bench.script(title) { |bench| yield new(bench, servers) }
  end

  def initialize(bench, servers)
    @bench = bench
    @servers = servers
  end

  # @param kilobytes [Numeric] of a payload
  # @param topics [Class]
  # @param contenders [Hash{Symbol=>Contender}]
  # @return [Race]
  def race(kilobytes, contenders, topics: Topics)
    count = COUNTS.fetch(kilobytes) / (@bench.quick? ? 10 : 1)
    count /= AVRO_SLOWER if topics == AvroTopics
    count -= count % Topics::PARTITIONS
    topic = topics.new(@servers).filled((kilobytes * 1000).round, count)
    Race.new(contenders, @servers, topic, count).run(@bench.quick? ? 1 : 3)
  end

  # @return [Contender]
  def ours(mode, environment = {}) = Contender.new("guildhall_consumer.rb", mode, environment)
  def karafka(mode = "hash", environment = {}) = Contender.new("karafka_consumer.rb", mode, environment)
end
