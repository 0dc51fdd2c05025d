# frozen_string_literal: true

# Whether the other threads of this process rest. Unlike processor time, this does not depend on how busy or fast the machine is.
module Wakes
  # While this thread sleeps: how often others woke, and whether there was a moment when none of them ran.
  #   wakes: voluntary context switches; a thread that polls has one each time
  #   rest: false for a thread that spins, which runs at every look
  Result = Data.define(:wakes, :rest)

  LOOKS = 20

  # @return [Boolean] whether the system has what is needed
  def self.available? = File.readable?("/proc/self/status")

  # @param seconds [Numeric]
  # @return [Result]
  def self.during(seconds)
    before = count
    rest = Array.new(LOOKS) { sleep(seconds.fdiv(LOOKS)) && running.zero? }.any?
    Result.new(count - before, rest)
  end

  def self.count = others("status").sum { |text| text[/^voluntary_ctxt_switches:\s+(\d+)/, 1].to_i }

  def self.running = others("stat").count { |text| text[/.*\) (\w)/m, 1] == "R" }

  def self.others(file)
    mine = Thread.current.native_thread_id.to_s
    (Dir.children("/proc/self/task") - [mine]).filter_map do |task|
      File.read("/proc/self/task/#{task}/#{file}")
    rescue Errno::ENOENT, Errno::ESRCH # it has just ended
      nil
    end
  end
  private_class_method :count, :running, :others
end
