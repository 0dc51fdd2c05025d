# frozen_string_literal: true

require "English"
require "fileutils"
require "socket"
require "tmpdir"

# The process of one real Apache Kafka broker: its folder, its storage, and what tests do to it. It runs where Kafka's libraries lie beside the
# script that KAFKA_BROKER_CONTROL names.
class BrokerProcess
  START_SECONDS = 150 # on a busy machine; a broker ends by itself where its controller does not take it in for that long
  END_SECONDS = 60 # of an orderly stop, which waits for the controller
  HEAP = "256m"
  CLUSTER_ID = "AAAAAAAAAAAAAAAAAAAAAQ"
  PORTS = (10_000...20_000) # connections of others get theirs from the system, which gives out higher ones: nobody takes these meanwhile

  class << self
    # @return [String, nil] why there is none here
    def missing
      return "no KAFKA_BROKER_CONTROL with Kafka's libraries beside it" unless ENV.key?("KAFKA_BROKER_CONTROL") && Dir.exist?(libraries)

      "no java" unless system("java", "-version", out: File::NULL, err: File::NULL)
    end

    def libraries = File.expand_path("../libs", ENV.fetch("KAFKA_BROKER_CONTROL", ""))

    # @return [Array<String>] a command
    def java(*arguments)
      ["java", "-Xmx#{HEAP}", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.awt.headless=true", "-cp", "#{libraries}/*", *arguments]
    end

    # A new folder. One that a scenario leaves is found by {OwnBroker.end_in}.
    def folder = Dir.mktmpdir("broker-", ENV.fetch("SCENARIO_FOLDER") { File.writable?("/dev/shm") ? "/dev/shm" : Dir.tmpdir })

    # @return [Array<Integer>] different ones
    def free_ports(count) = PORTS.to_a.shuffle(random: Random.new).lazy.select { |port| free?(port) }.first(count)

    # @param name [String, Symbol] of a listener with SASL
    # @param users [Hash{String=>String}] passwords
    # @return [Array<String>] lines of its properties
    def plain_sasl(name, users)
      ["listener.name.#{name}.sasl.enabled.mechanisms=PLAIN", "listener.name.#{name}.plain.sasl.jaas.config=#{plain_login(users)}"]
    end

    def plain_login(users)
      known = users.map { |user, password| "user_#{user}=\"#{password}\"" }.join(" ")
      "org.apache.kafka.common.security.plain.PlainLoginModule required #{known};"
    end

    # @param file [String] key and chain, as PEM
    # @return [Array<String>] lines of a listener's properties
    def keystore(name, file) = ["listener.name.#{name}.ssl.keystore.type=PEM", "listener.name.#{name}.ssl.keystore.location=#{file}"]

    private

    def free?(port)
      TCPServer.new("127.0.0.1", port).close
      true
    rescue SystemCallError
      false
    end
  end

  attr_reader :folder, :pid

  # @param folder [String] of its own
  # @param properties [String] of the broker, without log.dirs
  # @param port [Integer] at which it is known to run
  # @param storage [Array<String>] more arguments of the tool that formats its storage
  def initialize(folder, properties, port, storage: [])
    @folder = folder
    @port = port
    @pid = nil
    @log = File.join(folder, "broker.log")
    File.write(configuration, "#{properties}\nlog.dirs=#{data}\ninitial.broker.registration.timeout.ms=#{START_SECONDS * 1_000}\n")
    format_storage(storage)
  end

  # @return [String] the folder of its storage
  def data = File.join(@folder, "data")

  # Starts it on what it has stored, and blocks until it answers.
  def start
    launch
    await
  end

  def launch
    @pid = spawn(*java("kafka.Kafka", configuration), in: File::NULL, pgroup: true, close_others: true, **output)
    File.write(pid_file, @pid.to_s)
  end

  # Blocks until it answers.
  def await
    limit = now + START_SECONDS
    until answers?
      raise "the broker has ended: #{@status}; #{tail}" if ended?
      raise "the broker does not answer: #{tail}" if now > limit

      sleep(0.1)
    end
  end

  # An orderly end, as at a deployment.
  def term
    signal(:TERM)
    limit = now + END_SECONDS
    sleep(0.05) until ended? || now > limit
    kill
  end

  # With -9; what it has stored stays.
  def kill
    return unless running?

    signal(:KILL)
    Process.wait(@pid)
    gone
  end

  # It keeps its connections, and answers nothing.
  def freeze = tap { signal(:STOP) }

  def thaw = signal(:CONT)

  def running? = !@pid.nil? && !ended?

  # And removes its folder.
  def stop
    kill
    FileUtils.rm_rf(@folder)
  end

  private

  def configuration = File.join(@folder, "server.properties")
  def pid_file = File.join(@folder, "pid")
  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  def tail = File.exist?(@log) ? File.read(@log)[-3_000..] || File.read(@log) : ""

  def java(...) = self.class.java(...)

  def format_storage(more)
    system(*java("kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", configuration, *more), close_others: true, **output) or
      raise "the broker's storage could not be formatted: #{$CHILD_STATUS}; #{tail}"
  end

  def output = {out: [@log, "a"], err: %i[child out]}

  def signal(name)
    Process.kill(name, @pid) if @pid
  end

  def ended?
    return true if @pid.nil?

    Process.wait(@pid, Process::WNOHANG) ? gone : false
  end

  def gone
    @status = $CHILD_STATUS # of the thread that has waited
    @pid = nil
    FileUtils.rm_f(pid_file)
    true
  end

  def answers?
    TCPSocket.open("127.0.0.1", @port, &:close)
    true
  rescue Errno::ECONNREFUSED
    false
  end
end
