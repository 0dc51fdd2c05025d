# frozen_string_literal: true

require "rbconfig"
require "securerandom"
require "tempfile"

# Several processes that consume a topic: started, fed, measured, ended.
class Fleet
  EXECUTABLE = File.expand_path("../../exe/guildhall", __dir__)
  APPLICATION = File.expand_path("swarm_application.rb", __dir__)
  LIMIT = 120 # seconds for each step

  # @param commands [Array<Array<String>>] of guildhall, one for each process that is started
  # @param processes [Integer] that consume in the end
  # @param servers [String]
  # @param topic [String] an empty one
  def initialize(commands, processes, servers, topic)
    @commands = commands
    @processes = processes
    @journal = Tempfile.create("fleet")
    @environment = {"SERVERS" => servers, "TOPIC" => topic, "GROUP" => "bench-#{SecureRandom.hex(4)}", "JOURNAL" => @journal.path}
  end

  # @param count [Integer] messages that the block produces, once each process has its share of the partitions
  # @return [Array<Float>] MB of each process (Pss of smaps_rollup), once they have read them
  def memory(count)
    @pids = @commands.map do |command|
      spawn(@environment, RbConfig.ruby, EXECUTABLE, *command, "-r", APPLICATION, out: File::NULL)
    end
    wait("each process has a share") { shares.size == @processes && shares.values.all?(&:positive?) }
    yield
    wait("#{count} messages are read") { lines("read").sum { |_, read| read } == count }
    everybody.map { |pid| File.read("/proc/#{pid}/smaps_rollup")[/^Pss:\s+(\d+)/, 1].to_i / 1024.0 }
  ensure
    finish
  end

  private

  def finish
    @pids&.each { |pid| Process.kill(:TERM, pid) }&.each { |pid| Process.wait(pid) }
    @journal.close
    File.delete(@journal.path)
  end

  # @return [Array<Array(Integer, Integer)>] process and number
  def lines(kind)
    File.foreach(@journal.path).filter_map { |line| line.split.drop(1).map(&:to_i) if line.start_with?(kind) }
  end

  # @return [Hash{Integer=>Integer}] partitions of each process, as it was assigned them last
  def shares = lines("assigned").to_h

  def wait(what)
    limit = now + LIMIT
    until yield
      abort("not within #{LIMIT} s: #{what}") if now > limit
      sleep(0.1)
    end
  end

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

  def everybody
    @pids + @pids.flat_map { |pid| File.read("/proc/#{pid}/task/#{pid}/children").split.map(&:to_i) }
  end
end
