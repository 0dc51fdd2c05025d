# frozen_string_literal: true

require "fileutils"
require "json"
require "socket"
require "tmpdir"
require_relative "certificates"

# A real Apache Kafka broker with TLS, SASL and rights, in a process of its own. It runs where Kafka's libraries lie beside the script that
# KAFKA_BROKER_CONTROL names.
class SecuredBroker
  LISTENERS = {plain: "PLAINTEXT", tls: "SSL", expired: "SSL", misnamed: "SSL", mutual: "SSL", sasl: "SASL_PLAINTEXT", sasltls: "SASL_SSL",
               oauth: "SASL_SSL"}.freeze
  # Tokens are checked like any others, but for their signature, which they have none of.
  UNSECURED = "org.apache.kafka.common.security.oauthbearer.internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler"
  SESSION_MS = 4_000 # for which a connection of :oauth may be used without another token
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

  # @param life [Numeric] seconds
  # @return [String] a token of the user's, for the listener :oauth
  def self.token(user, life, **claims)
    parts = [{alg: "none"}, {sub: user, iat: Time.now.to_f, exp: Time.now.to_f + life, **claims}]
    "#{parts.map { |part| [part.to_json].pack("m0").tr("+/", "-_").delete("=") }.join(".")}."
  end

  # @return [Hash{Symbol=>Object}] librdkafka's settings
  def settings(listener, user: nil, password: USERS[user])
    protocol = LISTENERS.fetch(listener)
    if listener == :oauth
      return {**settings(:tls), "bootstrap.servers": address(listener), "security.protocol": "sasl_ssl", "sasl.mechanism": "OAUTHBEARER"}
    end

    {"bootstrap.servers": address(listener), "security.protocol": protocol.downcase,
     **({"ssl.ca.location": @authority} if protocol.end_with?("SSL")),
     **({"sasl.mechanism": "PLAIN", "sasl.username": user, "sasl.password": password} if protocol.start_with?("SASL"))}
  end

  # @return [String] a file in the broker's own folder
  def write(name, text) = File.join(@folder, name).tap { |path| File.write(path, text) }

  def stop
    Process.kill("KILL", @pid) && Process.wait(@pid) if @pid
    @pid = nil
    FileUtils.rm_rf(@folder)
  end

  # Another authority, of the same name, and another key: what it has certified is not trusted.
  # @return [String] a file with its certificate
  def foreign_authority = write("foreign.pem", Certificates.new.authority.to_pem)

  # @return [Array(String, String)] files with a client's certificate and its key
  def client_certificate(name)
    certificate, key = @certificates.issue(name)
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
    return lines + oauth(prefix) if name == :oauth
    return lines unless protocol.start_with?("SASL")

    lines.push("#{prefix}.sasl.enabled.mechanisms=PLAIN",
      "#{prefix}.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required #{users};")
  end

  def oauth(prefix)
    ["#{prefix}.sasl.enabled.mechanisms=OAUTHBEARER", "#{prefix}.oauthbearer.connections.max.reauth.ms=#{SESSION_MS}",
     "#{prefix}.oauthbearer.sasl.server.callback.handler.class=#{UNSECURED}",
     "#{prefix}.oauthbearer.sasl.jaas.config=org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required " \
     "unsecuredLoginStringClaim_sub=\"broker\";"]
  end

  def java(*arguments) = ["java", "-Xmx#{HEAP}", "-XX:TieredStopAtLevel=1", "-cp", "#{File.expand_path("../libs", ENV.fetch("KAFKA_BROKER_CONTROL"))}/*", *arguments]

  def start
    log = File.join(@folder, "broker.log")
    configuration = File.join(@folder, "server.properties")
    system(*java("kafka.tools.StorageTool", "format", "-t", "AAAAAAAAAAAAAAAAAAAAAQ", "-c", configuration), out: log, err: log) or
      raise "the broker's storage could not be formatted: #{File.read(log)}"
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
