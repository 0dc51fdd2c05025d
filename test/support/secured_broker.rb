# frozen_string_literal: true

require "fileutils"
require "socket"
require "tmpdir"
require_relative "certificates"

# A real Apache Kafka broker with TLS, SASL and rights, in a process of its own. It runs where Kafka's libraries lie beside the script that
# KAFKA_BROKER_CONTROL names.
class SecuredBroker
  LISTENERS = {plain: "PLAINTEXT", tls: "SSL", expired: "SSL", misnamed: "SSL", mutual: "SSL", sasl: "SASL_PLAINTEXT", sasltls: "SASL_SSL",
               scram: "SASL_SSL", reauth: "SASL_SSL"}.freeze
  SCRAM = %w[SCRAM-SHA-256 SCRAM-SHA-512].freeze
  MECHANISMS = Hash.new(%w[PLAIN].freeze).merge(scram: SCRAM, reauth: SCRAM).freeze
  REAUTH_SECONDS = 3 # after which a client of the listener of that name has to authenticate again
  USERS = {"alice" => "alice-password", "bob" => "bob-password"}.freeze
  START_SECONDS = 150 # on a busy machine
  HEAP = "256m"

  # @return [String, nil] why there is none here
  def self.missing
    libraries = File.expand_path("../libs", ENV.fetch("KAFKA_BROKER_CONTROL", ""))
    return "no KAFKA_BROKER_CONTROL with Kafka's libraries beside it" unless ENV.key?("KAFKA_BROKER_CONTROL") && Dir.exist?(libraries)

    "no java" unless system("java", "-version", out: File::NULL, err: File::NULL)
  end

  # @return [String] a file with the authority's certificate
  attr_reader :authority

  # Blocks until it answers.
  # @yieldparam broker [SecuredBroker] which is stopped when the block ends
  def self.run
    broker = new
    yield broker
  ensure
    broker&.stop
  end

  def initialize
    @folder = Dir.mktmpdir("secured-broker")
    @certificates = Certificates.new
    @authority = write("authority.pem", @certificates.authority.to_pem)
    @ports = [*LISTENERS.keys, :controller].zip(free_ports(LISTENERS.size + 1)).to_h
    write("server.properties", properties)
    start
  rescue StandardError
    stop
    raise
  end

  # @param listener [Symbol] one of {LISTENERS}
  # @return [String] its address
  def address(listener, host: "127.0.0.1") = "#{host}:#{@ports.fetch(listener)}"

  # @return [Hash{Symbol=>Object}] librdkafka's settings
  def settings(listener, user: nil, password: USERS[user], mechanism: MECHANISMS[listener].last)
    protocol = LISTENERS.fetch(listener)
    {"bootstrap.servers": address(listener), "security.protocol": protocol.downcase,
     **({"ssl.ca.location": @authority} if protocol.end_with?("SSL")),
     **({"sasl.mechanism": mechanism, "sasl.username": user, "sasl.password": password} if protocol.start_with?("SASL"))}
  end

  # @return [Hash{String=>String}] the environment of an application at Heroku: addresses, and certificates and key as text
  def heroku(name, **)
    certificate, key = @certificates.issue(name, **)
    {"KAFKA_URL" => "kafka+ssl://#{address(:mutual)}", "KAFKA_TRUSTED_CERT" => @certificates.authority.to_pem,
     "KAFKA_CLIENT_CERT" => certificate.to_pem, "KAFKA_CLIENT_CERT_KEY" => key.private_to_pem}
  end

  # Of a user with SCRAM. Takes some seconds.
  def change_password(user, password, mechanism: SCRAM.last)
    tool("kafka.admin.ConfigCommand", "--alter", "--entity-type", "users", "--entity-name", user, "--add-config", "#{mechanism}=[password=#{password}]")
  end

  # Runs one of Kafka's own commands, as the user who may do everything.
  # @param name [String] of its class
  def tool(name, *arguments)
    log = File.join(@folder, "tool.log")
    system(*java(name, "--bootstrap-server", address(:plain), *arguments), out: log, err: log) or raise "#{name}: #{File.read(log)}"
  end

  # Kills it, and lets it come back on its data.
  # @yield while it is down
  def restart
    end_process
    yield if block_given?
    launch
  end

  # @return [String] a file in the broker's own folder
  def write(name, text) = File.join(@folder, name).tap { |path| File.write(path, text) }

  def stop
    end_process
    FileUtils.rm_rf(@folder)
  end

  # Another authority, of the same name, and another key: what it has certified is not trusted.
  # @return [String] a file with its certificate
  def foreign_authority = write("foreign.pem", Certificates.new.authority.to_pem)

  # @return [Array(String, String)] files with a client's certificate and its key
  def client_certificate(name, **)
    certificate, key = @certificates.issue(name, **)
    [write("#{name}.crt", certificate.to_pem), write("#{name}.key", key.private_to_pem)]
  end

  private

  def free_ports(count)
    servers = Array.new(count) { TCPServer.new("127.0.0.1", 0) }
    servers.map { |server| server.addr[1] }
  ensure
    servers&.each(&:close)
  end

  def keystore(listener)
    name = listener == :misnamed ? "DNS:elsewhere.example" : "DNS:localhost,IP:127.0.0.1"
    write("#{listener}.pem", @certificates.pem("broker", expired: listener == :expired, subjectAltName: name))
  end

  def properties
    listeners = @ports.map { |name, port| "#{name.upcase}://127.0.0.1:#{port}" }
    protocols = {**LISTENERS, controller: "PLAINTEXT"}.map { |name, protocol| "#{name.upcase}:#{protocol}" }
    <<~PROPERTIES + LISTENERS.flat_map { |name, protocol| of_listener(name, protocol) }.join("\n")
      process.roles=broker,controller
      node.id=1
      controller.quorum.voters=1@127.0.0.1:#{@ports[:controller]}
      listeners=#{listeners.join(",")}
      advertised.listeners=#{listeners[..-2].join(",")}
      controller.listener.names=CONTROLLER
      inter.broker.listener.name=PLAIN
      listener.security.protocol.map=#{protocols.join(",")}
      log.dirs=#{@folder}/data
      offsets.topic.replication.factor=1
      offsets.topic.num.partitions=1
      transaction.state.log.replication.factor=1
      transaction.state.log.min.isr=1
      transaction.state.log.num.partitions=1
      share.coordinator.state.topic.replication.factor=1
      share.coordinator.state.topic.min.isr=1
      group.initial.rebalance.delay.ms=0
      auto.create.topics.enable=false
      authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
      super.users=User:ANONYMOUS
    PROPERTIES
  end

  def of_listener(name, protocol)
    prefix = "listener.name.#{name}"
    users = USERS.map { |user, password| "user_#{user}=\"#{password}\"" }.join(" ")
    lines = []
    lines.push("#{prefix}.ssl.keystore.type=PEM", "#{prefix}.ssl.keystore.location=#{keystore(name)}") if protocol.end_with?("SSL")
    if name == :mutual
      lines.push("#{prefix}.ssl.client.auth=required", "#{prefix}.ssl.truststore.type=PEM", "#{prefix}.ssl.truststore.location=#{@authority}")
    end
    return lines unless protocol.start_with?("SASL")

    lines << "#{prefix}.sasl.enabled.mechanisms=#{MECHANISMS[name].join(",")}"
    MECHANISMS[name].each do |mechanism|
      login = mechanism == "PLAIN" ? "plain.PlainLoginModule required #{users};" : "scram.ScramLoginModule required;"
      lines << "#{prefix}.#{mechanism.downcase}.sasl.jaas.config=org.apache.kafka.common.security.#{login}"
      lines << "#{prefix}.#{mechanism.downcase}.connections.max.reauth.ms=#{REAUTH_SECONDS * 1_000}" if name == :reauth
    end
    lines
  end

  def java(*arguments) = ["java", "-Xmx#{HEAP}", "-XX:TieredStopAtLevel=1", "-cp", "#{File.expand_path("../libs", ENV.fetch("KAFKA_BROKER_CONTROL"))}/*", *arguments]

  def start
    log = File.join(@folder, "broker.log")
    scram = USERS.flat_map { |user, password| SCRAM.flat_map { |mechanism| ["-S", "#{mechanism}=[name=#{user},password=#{password}]"] } }
    system(*java("kafka.tools.StorageTool", "format", "-t", "AAAAAAAAAAAAAAAAAAAAAQ", "-c", configuration, *scram), out: log, err: log) or
      raise "the broker's storage could not be formatted: #{File.read(log)}"
    launch
  end

  def configuration = File.join(@folder, "server.properties")

  def end_process
    Process.kill("KILL", @pid) && Process.wait(@pid) if @pid
    @pid = nil
  end

  def launch
    log = File.join(@folder, "broker.log")
    @pid = spawn(*java("kafka.Kafka", configuration), in: File::NULL, out: log, err: log)
    limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + START_SECONDS
    until answers?
      raise "the broker has ended: #{File.read(log)[-3_000..]}" if Process.wait(@pid, Process::WNOHANG)
      raise "the broker does not answer: #{File.read(log)[-3_000..]}" if Process.clock_gettime(Process::CLOCK_MONOTONIC) > limit

      sleep(0.1)
    end
  end

  def answers?
    TCPSocket.open("127.0.0.1", @ports[:sasltls], &:close)
    true
  rescue Errno::ECONNREFUSED
    false
  end
end
