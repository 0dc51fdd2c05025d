# frozen_string_literal: true

require "fileutils"
require "socket"
require "tmpdir"

# A broker of one scenario's own, with settings that others would not get on with. On ports that are free.
class OwnBroker
  # @return [String] its address
  attr_reader :servers

  # @param control [String] a command that takes `start PORT`, `kill PORT`, `resume PORT` and `stop PORT`, with BROKER_DIR
  # @param settings [Hash{String=>Object}] of the broker
  def initialize(control, settings)
    @control = control
    @port = free_port
    @servers = "127.0.0.1:#{@port}"
    @directory = Dir.mktmpdir("guildhall-broker")
    run("start")
    run("kill")
    File.write(File.join(data, "server.properties"), settings.map { |name, value| "#{name}=#{value}\n" }.join, mode: "a")
    run("resume")
  end

  def stop
    run("stop")
  ensure
    FileUtils.rm_rf(@directory)
  end

  private

  def data = File.join(@directory, "broker")

  def run(verb)
    system({"BROKER_DIR" => data, "BROKER_HEAP" => "256m"}, @control, verb, @port.to_s, out: File::NULL) or raise "the broker did not #{verb}"
  end

  # The controller has the next one.
  def free_port
    100.times do
      first = TCPServer.new("127.0.0.1", 0)
      port = first.addr[1]
      first.close
      return port if [port, port + 1].all? { |one| free?(one) }
    end
    raise "no two ports are free"
  end

  def free?(port)
    TCPServer.new("127.0.0.1", port).close
    true
  rescue SystemCallError
    false
  end
end
