# frozen_string_literal: true

require_relative "../../support/broker_process"

# A broker of one scenario's own, on ports that are free: one that the scenario kills or freezes, or whose settings others would not get on
# with. Other scenarios run beside it.
class OwnBroker
  DEFAULTS = {
    "process.roles" => "broker,controller", "node.id" => 1, "controller.listener.names" => "CONTROLLER",
    "offsets.topic.replication.factor" => 1, "offsets.topic.num.partitions" => 5,
    "transaction.state.log.replication.factor" => 1, "transaction.state.log.min.isr" => 1, "transaction.state.log.num.partitions" => 5,
    "share.coordinator.state.topic.replication.factor" => 1, "share.coordinator.state.topic.min.isr" => 1,
    "group.initial.rebalance.delay.ms" => 0, "auto.create.topics.enable" => true, "num.partitions" => 1
  }.freeze
  private_constant :DEFAULTS

  # @return [String] its address
  attr_reader :servers

  # Blocks until it answers.
  # @param settings [Hash{String=>Object}] of the broker, beside {DEFAULTS}
  def initialize(settings)
    port, controller = BrokerProcess.free_ports(2)
    @servers = "127.0.0.1:#{port}"
    addresses = {
      "controller.quorum.voters" => "1@127.0.0.1:#{controller}", "advertised.listeners" => "PLAINTEXT://#{@servers}",
      "listeners" => "PLAINTEXT://#{@servers},CONTROLLER://127.0.0.1:#{controller}"
    }
    properties = {**DEFAULTS, **addresses, **settings}.map { |name, value| "#{name}=#{value}" }.join("\n")
    @process = BrokerProcess.new(BrokerProcess.folder, properties, port)
    @process.start
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
  def pid = @process.pid

  # And removes its data.
  def stop = @process&.stop

  # With -9; what it has stored stays.
  def kill = @process.kill

  # After it was killed. Blocks until it answers.
  def resume = @process.start
end
