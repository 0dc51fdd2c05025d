# frozen_string_literal: true

require "fileutils"
require "guildhall/kafka"
require "guildhall/json"
require "guildhall/text_table"
require_relative "../support/cluster"
require_relative "faults"
require_relative "ledger"
require_relative "measurements"
require_relative "plan"
require_relative "readers"
require_relative "workforce"

module Soaking
  # Members and senders on three secured brokers, all of which suffer what they may, and an account of every message. Ends with that account,
  # also at Ctrl-C; a second Ctrl-C gives up at once.
  class Soak
    LOOK_SECONDS = 0.5
    MEASURE_SECONDS = 5
    STILL_SECONDS = 200 # without any progress, after which what waits is given up: longer than a partition that may not be read rests
    SETTLE_SECONDS = 5 # for what comes twice
    STARTED_SECONDS = 300 # on a busy machine
    ROOT = File.expand_path("../..", __dir__)
    # A member that was killed is missed soon: with the consumer protocol brokers decide that, with the classic one the members do.
    QUICK_GROUPS = {
      consumer: {"group.consumer.session.timeout.ms" => 10_000, "group.consumer.min.session.timeout.ms" => 10_000,
                 "group.consumer.heartbeat.interval.ms" => 1_000, "group.consumer.min.heartbeat.interval.ms" => 1_000},
      classic: {"session.timeout.ms": 10_000, "heartbeat.interval.ms": 1_000}
    }.freeze

    # @return [Faults]
    attr_reader :faults
    attr_reader :ledger, :cluster

    # @param minutes [Numeric]
    # @param rate [Numeric] messages a second
    # @param seed [Integer] of the faults
    # @param members [Integer] at first
    # @param folder [String] for what it writes
    # @param out [IO]
    # @param protocol [Symbol] of the members' group, :consumer or :classic
    def initialize(minutes: 0, rate: 500, seed: Random.new_seed % 100_000, protocol: :consumer, members: 3, senders: 2, folder: nil, out: $stdout)
      @minutes = minutes
      @rate = rate
      @seed = seed
      @protocol = protocol
      @members = members
      @senders = senders
      @folder = folder || File.join(ROOT, "log", "soak-#{Time.now.strftime("%Y%m%d-%H%M%S")}")
      @out = out
      @name = "soak"
      @lock = Mutex.new
      @interrupts = 0
    end

    # @return [Integer] the exit status: 0 if the account is clean
    def run
      reason = Cluster.missing
      return say("soak: #{reason}; set KAFKA_BROKER_CONTROL to the script that starts a broker").then { 2 } if reason

      trap_signals do
        perform do
          @faults.start
          report_every = (@minutes > 10 ? 300 : 60)
          reported = now
          until over?
            sleep(LOOK_SECONDS)
            next if now - reported < report_every

            report
            reported = now
          end
          say("#{@interrupts.positive? ? "interrupted" : "time is up"}: no more faults")
        end
      end
      clean? ? 0 : 1
    rescue StandardError => error
      say("the soak could not be made: #{error.full_message(highlight: false)}", "logs: #{@folder}")
      1
    end

    # Starts everything, runs the block, ends everything in order, and tells the account.
    def perform
      start
      yield self
      finish
    ensure
      @watcher&.kill&.join
      @workforce&.kill_all
      @readers&.stop
      clean = @leaks && clean?
      @cluster&.stop(keep: (@folder unless clean)) # what brokers have stored, and the journal, say what has become of each message
      FileUtils.rm_f(@journal) if clean
    end

    # @return [Boolean] after {#perform}
    def clean? = problems.empty?

    # @return [Array<String>] what must not be
    def problems = [*@ledger.errors, *@workforce.problems, *@leaks, *@trouble]

    # Blocks until all that is confirmed is settled, or nothing moves any more.
    def settle(still = STILL_SECONDS)
      before = nil
      since = now
      until (waiting = @ledger.waiting).zero? || now - since > still || @interrupts > 1
        progress = @ledger.counts[:settled]
        before, since = progress, now if progress != before # rubocop:disable Style/ParallelAssignment
        sleep(LOOK_SECONDS)
      end
      waiting.zero?
    end

    private

    def start
      FileUtils.mkdir_p(@folder)
      say("soak of #{@minutes} minutes, #{@rate} messages a second, seed #{@seed}, #{@protocol} protocol; in #{@folder}")
      @cluster = Cluster.new(secured: true, settings: QUICK_GROUPS.fetch(:consumer))
      @topics = Plan.topics(@name)
      @topics.each_value { |topic| @cluster.create_topic(topic) }
      %i[topic group transactional_id].each { |kind| @cluster.allow("alice", kind, @name) }
      @cluster.allow("bob", :topic, @name)
      @journal = File.join(@folder, "journal")
      @ledger = Ledger.new(@journal)
      @readers = Readers.new(@cluster.servers, @topics, @ledger)
      sender = {kafka: @cluster.settings("bob"), rate: @rate / @senders.to_f}
      group = {"group.protocol": @protocol}
      group.merge!(QUICK_GROUPS.fetch(:classic)) if @protocol == :classic
      member = {kafka: @cluster.settings("alice"), group:}
      @workforce = Workforce.new(@folder, member:, sender:, run: @name, journal: @journal)
      @faults = Faults.new(@cluster, @workforce, @folder, random: Random.new(@seed), name: @name)
      @measurements = Measurements.new(@folder)
      @trouble = []
      @leaks = []
      @began = nil
      @workforce.start(:member, name: Workforce::VETERAN)
      (@members - 1).times { @workforce.start(:member) }
      @senders.times { @workforce.start(:sender) }
      @watcher = Thread.new { watch }
      @cluster.eventually("messages are handled", STARTED_SECONDS) { @ledger.counts[:handled].positive? && @ledger.counts[:committed].positive? }
      @began = now
      say("#{@senders} senders, #{@members} members; faults begin (faults.log has them; the members' logs are beside it)")
    end

    # Reads the journal, notices who has ended, and measures.
    def watch
      measured = now
      loop do
        sleep(LOOK_SECONDS)
        @ledger.read
        @workforce.look
        next if @began.nil? || now - measured < MEASURE_SECONDS

        measured = now
        @measurements.take(now - @began, @ledger.to_h, @ledger.take_latencies, @workforce.members)
      end
    rescue StandardError => error
      trouble("the soak's own: #{error.full_message(highlight: false)}")
    end

    def finish
      attempt { @faults.stop }
      say("waiting for what was sent: the last messages, and what faults have held up")
      attempt { @cluster.eventually("all brokers run and are in sync", 150) { (Cluster::NUMBERS - @cluster.running).empty? && @cluster.in_sync? } }
      @workforce.stop(:sender)
      settle
      sleep(SETTLE_SECONDS)
      @workforce.stop(:member)
      sleep(LOOK_SECONDS * 2)
      @watcher.kill.join
      @ledger.close
      @measurements.draw
      find_secrets
      report
      tell_end
    end

    def attempt
      yield
    rescue StandardError => error
      trouble(error.full_message(highlight: false))
    end

    def report
      account = @ledger.to_h
      rows = [["after", *account.keys], ["#{((now - @began) / 60).round(1)} min", *account.values]]
      say(*Guildhall::TextTable.lines(rows.transpose))
    end

    def tell_end
      say("faults: #{@faults.counts.map { |kind, count| "#{count} #{kind.to_s.tr("_", " ")}" }.join(", ")}",
        "processes: #{@workforce.endings.map { |how, count| "#{count} #{how}" }.join(", ")}")
      early, late = @measurements.memory
      say("the member that stays: #{early} MB in the second quarter of the time, #{late} MB in the last") if early
      say("charts, measurements and logs: #{@folder}")
      say(clean? ? "the account is clean" : "NOT CLEAN:", *problems)
    end

    # Settings, errors, titles: no file that a process has written may have one.
    def find_secrets
      Dir[File.join(@folder, "*")].each do |file|
        text = File.binread(file)
        Cluster::USERS.each { |user, secret| @leaks << "the secret of #{user} is in #{File.basename(file)}" if text.include?(secret) }
      end
    end

    def over?
      @interrupts.positive? || @faults.failed? || @trouble.any? || @workforce.problems.any? { |text| text.include?("veteran") } || now - @began > @minutes * 60
    end

    # Ruby's handlers take no lock, and neither do these.
    def trap_signals
      main = Thread.current
      before = %w[INT TERM].to_h do |signal|
        [signal, Signal.trap(signal) { (@interrupts += 1) > 1 && main.raise(Interrupt, "twice") }]
      end
      yield
    ensure
      before&.each { |signal, handler| Signal.trap(signal, handler || "DEFAULT") }
    end

    def trouble(text) = @lock.synchronize { @trouble << text }

    def say(*lines) = @out.puts(*lines)

    def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end
end
