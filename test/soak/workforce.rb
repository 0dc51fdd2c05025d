# frozen_string_literal: true

require "json"
require "rbconfig"

module Soaking
  # The processes of a soak: members of the group, of which one lives as long as the soak, and senders. Any thread.
  class Workforce
    START_SECONDS = 60
    STOP_SECONDS = 60 # of a member: more than its shutdown_timeout
    FLUSH_SECONDS = 240 # of a sender: more than a message may take
    VETERAN = "veteran"

    # One process.
    Worker = Struct.new(:name, :kind, :pid, :orders, :asked, :status)
    private_constant :START_SECONDS, :STOP_SECONDS, :FLUSH_SECONDS, :Worker

    # @return [Array<String>] what processes have done that they must not
    attr_reader :problems
    # @return [Hash{String=>Integer}] how members have ended that were asked to
    attr_reader :endings

    # @param folder [String] of their logs
    # @param member [Hash] what each member is told
    # @param sender [Hash] what each sender is told
    # @param common [Hash] what both are
    def initialize(folder, member:, sender:, **common)
      @folder = folder
      @told = {member: {**common, **member}, sender: {**common, **sender}}
      @lock = Mutex.new
      @looking = Mutex.new
      @workers = {}
      @problems = []
      @endings = Hash.new(0)
      @numbers = Hash.new(0)
    end

    # @param kind [Symbol] :member or :sender
    # @param name [String, nil] nil: the next of its kind
    # @return [String] its name
    def start(kind, name: nil)
      name ||= "#{kind[0]}#{@lock.synchronize { @numbers[kind] += 1 }}"
      soak = JSON.generate({**@told.fetch(kind), name:})
      orders_end, orders = IO.pipe
      log = File.join(@folder, "#{name}.log")
      pid = spawn({"SOAK" => soak}, RbConfig.ruby, File.join(__dir__, "#{kind}.rb"), in: orders_end, out: [log, "a"], err: [log, "a"], pgroup: true)
      orders_end.close
      @lock.synchronize { @workers[name] = Worker.new(name, kind, pid, orders) }
      name
    end

    # @return [Array<String>] names of those that live, without the veteran
    def ordinary(kind) = living.select { |worker| worker.kind == kind && worker.name != VETERAN }.map(&:name)

    # @return [Hash{String=>Integer}] pids of the members that live, by name
    def members = living.select { |worker| worker.kind == :member }.to_h { |worker| [worker.name, worker.pid] }

    # Asks one to stop, and waits until it has.
    def term(name)
      worker = found(name) or return
      send_signal(worker, :TERM)
      return if ended?(worker, worker.kind == :member ? STOP_SECONDS : FLUSH_SECONDS)

      problem("#{name} does not stop: see #{name}.log")
      kill(name)
    end

    def kill(name)
      worker = found(name) or return
      send_signal(worker, :KILL)
      ended?(worker, STOP_SECONDS)
    end

    # It stands still, and the group goes on without it.
    def freeze(name, seconds)
      worker = found(name) or return
      Process.kill(:STOP, worker.pid)
      yield(seconds)
    ensure
      Process.kill(:CONT, worker.pid) if worker && worker.status.nil?
    end

    # Notes who has ended, asked or not. Called all the time.
    def look
      @looking.synchronize do
        living.each do |worker|
          _, status = Process.wait2(worker.pid, Process::WNOHANG)
          gone(worker, status) if status
        end
      end
    end

    def stop(kind) = living.select { |worker| worker.kind == kind }.map { |worker| Thread.new { term(worker.name) } }.each(&:join)

    def kill_all = living.each { |worker| kill(worker.name) }

    private

    def living = @lock.synchronize { @workers.values.select { |worker| worker.status.nil? } }
    def found(name) = @lock.synchronize { @workers[name] }&.then { |worker| worker if worker.status.nil? }

    def send_signal(worker, signal)
      worker.asked = signal
      Process.kill(signal, worker.pid)
    rescue Errno::ESRCH
      nil # it has just ended
    end

    def ended?(worker, seconds)
      limit = now + seconds
      until worker.status
        return false if now > limit

        look
        sleep(0.05)
      end
      true
    end

    def gone(worker, status)
      @lock.synchronize do
        next if worker.status

        worker.status = status
        worker.orders.close
        @workers.delete(worker.name)
        @endings["#{worker.kind} #{status.exited? ? "exit #{status.exitstatus}" : "SIG#{Signal.signame(status.termsig)}"}"] += 1
        # By the signal itself: while Ruby started.
        asked = worker.asked == :KILL || (worker.asked && ([0, 1].include?(status.exitstatus) || status.termsig == Signal.list["TERM"]))
        @problems << "#{worker.name} has ended by itself, #{status}: see #{worker.name}.log" unless asked
      end
    end

    def problem(text) = @lock.synchronize { @problems << text }
    def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end
end
