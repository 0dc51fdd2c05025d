# frozen_string_literal: true

require_relative "plan"

module Soaking
  # What a soak's cluster and processes suffer: each method is one kind, does it, waits, and heals it. Its line in faults.log says when.
  class Faults
    # How often each comes, in relation to the others.
    CLUSTER = {broker_term: 4, broker_kill: 4, broker_freeze: 3, two_brokers: 1, controller_kill: 1, rolling_restart: 1, right: 4}.freeze
    PROCESSES = {join: 3, leave: 3, member_kill: 3, member_freeze: 2, deploy: 1, sender_kill: 2}.freeze
    MEMBERS = (1..4) # beside the veteran
    CALM = {CLUSTER => 8..25, PROCESSES => 4..15}.freeze # seconds between two
    # What is taken from whom: a user, a kind of resource, the topic (nil: the group), an operation.
    RIGHTS = [["alice", :topic, :plain, :read], ["alice", :group, nil, :read], ["alice", :topic, :dead, :write], ["alice", :topic, :out, :write],
              ["bob", :topic, :keyed, :write]].freeze
    private_constant :MEMBERS, :CALM, :RIGHTS

    # @return [Hash{Symbol=>Integer}] how often each was done
    attr_reader :counts

    # @param random [Random]
    # @param name [String] of the run
    def initialize(cluster, workforce, folder, random:, name:)
      @cluster = cluster
      @workforce = workforce
      @random = random
      @name = name
      @topics = Plan.topics(name)
      @log = File.new(File.join(folder, "faults.log"), "a").tap { |log| log.sync = true }
      @began = now
      @counts = Hash.new(0)
      @stopping = false
      @threads = []
      @failures = Thread::Queue.new
    end

    # Goes on at random until {#stop}.
    def start
      @began = now
      @threads = [CLUSTER, PROCESSES].map do |kinds|
        random = Random.new(@random.rand(2**31)) # of its own: what one thread does says nothing of the other
        Thread.new { random_faults(kinds, random) }
      end
    end

    # Ends what is being done, and heals it. Blocks.
    # @raise what one of them has raised
    def stop
      @stopping = true
      @threads.each(&:join)
      raise @failures.pop unless @failures.empty?
    end

    # @return [Boolean] whether they cannot go on
    def failed? = !@failures.empty?

    def broker_term(random = @random)
      number = Cluster::NUMBERS.sample(random:)
      fault(:broker_term, "broker #{number}") do
        @cluster.term(number)
        pause(random.rand(1..8))
        @cluster.resume(number)
      end
    end

    # @param number [Integer] of the broker
    def broker_kill(random = @random, number = Cluster::NUMBERS.sample(random:))
      fault(:broker_kill, "broker #{number}") { killed(random, number) }
    end

    def controller_kill(random = @random)
      number = @cluster.controller || Cluster::NUMBERS.sample(random:)
      fault(:controller_kill, "broker #{number}") { killed(random, number) }
    end

    def broker_freeze(random = @random)
      number = Cluster::NUMBERS.sample(random:)
      fault(:broker_freeze, "broker #{number}") do
        @cluster.freeze(number)
        pause(random.rand(2..15))
      ensure
        @cluster.thaw(number)
      end
    end

    # Neither min.insync.replicas nor the controllers' majority is there any more.
    def two_brokers(random = @random) = Cluster::NUMBERS.sample(2, random:).then { |numbers| fault(:two_brokers, "brokers #{numbers}") { killed(random, *numbers) } }

    def rolling_restart(_random = @random)
      fault(:rolling_restart, "brokers #{Cluster::NUMBERS}") { @cluster.rolling_restart { pause(1) } }
    end

    def right(random = @random)
      user, resource, topic, operation = RIGHTS.sample(random:)
      place = [user, resource, topic ? @topics.fetch(topic) : @name, operation]
      fault(:right, place.join(" ")) do
        tried { @cluster.deny(*place) }
        pause(random.rand(2..12))
      ensure
        tried { @cluster.undeny(*place) }
      end
    end

    def join(_random = @random)
      return if @workforce.ordinary(:member).size >= MEMBERS.max

      fault(:join, @workforce.start(:member)) { nil }
    end

    def leave(random = @random)
      names = @workforce.ordinary(:member)
      return join if names.size <= MEMBERS.min

      name = names.sample(random:)
      fault(:leave, name) { @workforce.term(name) }
    end

    def member_kill(random = @random)
      name = @workforce.ordinary(:member).sample(random:) or return join
      fault(:member_kill, name) do
        @workforce.kill(name)
        pause(random.rand(0..4))
        @workforce.start(:member)
      end
    end

    def member_freeze(random = @random)
      name = @workforce.ordinary(:member).sample(random:) or return join
      fault(:member_freeze, name) { @workforce.freeze(name, random.rand(1..15)) { |seconds| pause(seconds) } }
    end

    # A new release: each one is replaced, one after the other.
    def deploy(_random = @random)
      names = @workforce.ordinary(:member)
      fault(:deploy, names.join(" ")) do
        names.each do |name|
          @workforce.start(:member)
          pause(2)
          @workforce.term(name)
        end
      end
    end

    def sender_kill(random = @random)
      name = @workforce.ordinary(:sender).sample(random:)
      fault(:sender_kill, name.to_s) do
        @workforce.kill(name) if name
        @workforce.start(:sender)
      end
    end

    private

    def random_faults(kinds, random)
      bag = kinds.flat_map { |kind, weight| [kind] * weight }
      until @stopping
        pause(random.rand(CALM.fetch(kinds)))
        public_send(bag.sample(random:), random) unless @stopping
      end
    rescue StandardError => error
      @failures << error
    end

    def killed(random, *numbers)
      numbers.each { |number| @cluster.kill(number) }
      pause(random.rand(1..8))
      numbers.map { |number| Thread.new { @cluster.resume(number) } }.each(&:join)
    end

    # Until a broker has done it: the controllers may just elect a leader.
    def tried
      tries = 10
      begin
        yield
      rescue *Cluster::UNANSWERED
        raise unless (tries -= 1).positive?

        sleep(3)
        retry
      end
    end

    def fault(kind, what)
      began = now
      say("#{kind}: #{what}")
      @counts[kind] += 1
      yield
    ensure
      say("  over after #{(now - began).round(1)} s: #{kind}: #{what}") if now - began > 0.5
    end

    def say(text) = @log.puts(format("%8.1f  %s", now - @began, text))

    def pause(seconds)
      limit = now + seconds
      sleep(0.1) until @stopping || now > limit
    end

    def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end
end
