# frozen_string_literal: true

# Several members of one group in one process (`multiplexing`), each with a reader of its own, against one member: Documents of 5 KB from a real
# broker, five fields read of each. With cores to spare it has to scale, on two cores it must cost nothing. The topics take 1.5 GB.
require "etc"
require_relative "support/bench"
require_relative "kafka/topics"
require_relative "kafka/race"

# What each row does.
class KafkaMembersRows
  MEMBERS = [2, 4].freeze
  PARTITIONS = 8
  BYTES = 5_000
  CORES_TO_SCALE = 16 # the broker and the runner threads need some, too

  def initialize(bench, servers)
    @bench = bench
    @servers = servers
  end

  def run
    wanted = MEMBERS.select { |members| @bench.wanted?(row(members)) }
    return if wanted.empty?

    count = @bench.quick? ? 100_000 : 300_000
    topic = Topics.new(@servers).filled(BYTES, count, partitions: PARTITIONS)
    result = Race.new([1, *wanted].to_h { |members| [members, contender(members)] }, @servers, topic, count).run(@bench.quick? ? 1 : 5)
    @bench.note("members: #{result}")
    wanted.each { |members| @bench.row(row(members), against: "1 member", ratio: result.ratio(members, 1), goal: goal(members)) }
  end

  private

  def row(members) = "kafka_members.document.5KB.#{members}"
  def goal(members) = Etc.nprocessors >= CORES_TO_SCALE ? (0.7 * members).round(2) : 0.95
  def contender(members) = Contender.new("guildhall_consumer.rb", "members", "MEMBERS" => members)
end

servers = ENV.fetch("KAFKA_BOOTSTRAP_SERVERS", "")
abort("bin/bench kafka_members: needs a real broker; KAFKA_BOOTSTRAP_SERVERS says where it is") if servers.empty?
Bench.script("kafka_members") { |bench| KafkaMembersRows.new(bench, servers).run }
