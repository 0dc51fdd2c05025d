# frozen_string_literal: true

require "socket"
require "tmpdir"

# A broker of one scenario's own, on ports that are free: one that the scenario kills or freezes, or whose settings others would not get on
# with. Other scenarios run beside it.
class OwnBroker
  # @return [String] its address
  attr_reader :servers

  # @param control [String] a command that takes `start PORT`, `kill PORT`, `resume PORT` and `stop PORT`, with BROKER_DIR
  # @param settings [Hash{String=>Object}] of the broker, beside those that the command gives it
  def initialize(control, settings)
    @control = control
    @port = free_port
    @servers = "127.0.0.1:#{@port}"
    @data = File.join(ENV.fetch("SCENARIO_FOLDER", Dir.tmpdir), "broker-#{@port}")
    command("start")
    configure(settings) if settings.any?
  rescue StandardError
    stop
    raise
  end

  # Ends a broker that a scenario has left in the folder that SCENARIO_FOLDER named.
  def self.end_in(folder)
    Dir[File.join(folder, "broker-*/pid")].each { |file| Process.kill(:KILL, Integer(File.read(file))) }
  rescue Errno::ESRCH
    nil # it has ended
  end

  # @return [Integer] of its process
  def pid = Integer(File.read(File.join(@data, "pid")))

  # And removes its data.
  def stop = command("stop")

  # With -9; what it has stored stays.
  def kill = command("kill")

  # After it was killed. With much to recover it takes longer than the command waits.
  # @return [Boolean] whether it answers
  def resume? = system(environment, @control, "resume", @port.to_s, out: File::NULL, err: File::NULL)

  private

  def configure(settings)
    kill
    File.write(File.join(@data, "server.properties"), settings.map { |name, value| "#{name}=#{value}\n" }.join, mode: "a")
    3.times.any? { resume? } or raise "the broker did not resume" # on a busy machine it takes longer than the command waits
  end

  def environment = {"BROKER_DIR" => @data, "BROKER_HEAP" => "256m"}

  def command(verb)
    system(environment, @control, verb, @port.to_s, out: File::NULL) or raise "the broker did not #{verb}"
  end

  # The controller has the next one. Connections of others get their ports from the system, which gives out higher ones: nobody takes these
  # until the broker listens there.
  def free_port
    (10_000...20_000).step(2).to_a.shuffle(random: Random.new).find { |port| free?(port) && free?(port + 1) } or raise "no two ports are free"
  end

  def free?(port)
    TCPServer.new("127.0.0.1", port).close
    true
  rescue SystemCallError
    false
  end
end
