# frozen_string_literal: true

require "tempfile"
require_relative "release"

# Several processes of an application in one group, which are replaced one after the other while messages come; and an account of the
# rests: how often each partition changed its owner, and who gave up what at each step.
class Deploy
  PARTITIONS = 6 # of each topic
  KEYS = 12

  attr_reader :names

  def initialize(scenario)
    @scenario = scenario
    @names = %w[plain ordered virtual].map { |name| scenario.topic(partitions: PARTITIONS, name:) }
    @journal = Tempfile.create("journal").tap(&:close).path
    @processes = []
    @numbers = Hash.new(0)
  end

  # @return [Release] one more process
  def start(librdkafka = {}, **settings)
    kafka = {**@scenario.client_settings, **librdkafka}
    settings = {max_messages: 20, commit_interval: 0.2, concurrency: 3, shutdown_timeout: 20, **settings}
    Release.new(account: @scenario.account.path, journal: @journal, topics: @names, group: @scenario.group, kafka:, settings:)
      .tap { |process| @processes << process }
  end

  def stop(process)
    @processes.delete(process)
    process.stop
  end

  # Produces to all topics until the block ends.
  def under_load
    producing = Thread.new do
      @scenario.client(:producer) do |producer|
        until Thread.current[:stop]
          Array.new(PARTITIONS) { |number| produce(producer, number) }.flatten.each(&:wait)
          sleep(0.005)
        end
      end
    end
    yield
  ensure
    producing[:stop] = true
    producing.join
  end

  # @return [Hash{Integer=>Array<String>}] what each process has now, by its pid
  def owned
    notes.each_with_object(Hash.new { |hash, pid| hash[pid] = [] }) do |(pid, what, place), owned|
      owned[pid] << place if what == "assigned"
      owned[pid].delete(place) if what == "revoked"
    end
  end

  # @param spread [Integer] how many partitions more than another one a process may have
  # @return [Boolean] whether each partition has an owner, and each of these processes some
  def settled?(*processes, spread: PARTITIONS)
    sizes = owned.slice(*processes.map(&:pid)).transform_values(&:size)
    processes.any? && sizes.size == processes.size && sizes.values.sum == PARTITIONS * 3 &&
      sizes.values.minmax.then { |least, most| least.positive? && most - least <= spread }
  end

  # @return [Array<Array(Integer, String, String)>] pid, "assigned" or "revoked", partition: what has happened, in order; since `from` lines
  def notes(from = 0) = File.readlines(@journal).drop(from).map { |line| line.split.then { |pid, *rest| [pid.to_i, *rest] } }
  def noted = notes.size

  # @return [Array<String>] why processes were refused the consumer protocol
  def refused(from = 0) = notes(from).filter_map { |_, what, reason| reason if what == "refused" }

  # @param leaving [Array<Integer>] pids of processes that are stopped
  # @return [Array(Integer, Integer)] since then: partitions that processes gave up that go on, and those that all gave up
  def given_up(from, leaving = [])
    revoked = notes(from).select { |_, what, _| what == "revoked" }
    [revoked.count { |pid, *| !leaving.include?(pid) }, revoked.size]
  end

  # @return [Hash{Integer=>Integer}] how many partitions changed their owner how often since then
  def rests(from = 0)
    changes = notes(from).select { |_, what, _| what == "revoked" }.map(&:last).tally
    @names.flat_map { |name| Array.new(PARTITIONS) { |number| changes.fetch("#{name}/#{number}", 0) } }.tally.sort.to_h
  end

  def close
    @processes.each(&:kill)
    File.delete(@journal)
  end

  private

  def produce(producer, number)
    plain, *by_key = @names
    sent = [producer.produce(topic: plain, partition: number, payload: "x")]
    @scenario.account.produced("#{plain}/#{number}", 1)
    by_key.each do |name|
      key = "k#{number + (PARTITIONS * (@numbers[[name, number]] % (KEYS / PARTITIONS)))}"
      sent << producer.produce(topic: name, partition: number, key:, payload: @numbers[[name, key]].to_s)
      @numbers[[name, key]] += 1
      @numbers[[name, number]] += 1
      @scenario.account.produced("#{name}/#{key}", 1)
    end
    sent
  end
end
