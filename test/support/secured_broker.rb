# frozen_string_literal: true

require_relative "broker_process"
require_relative "certificates"

# A real Apache Kafka broker with TLS, SASL and rights, in a process of its own.
class SecuredBroker
  LISTENERS = {plain: "PLAINTEXT", tls: "SSL", expired: "SSL", misnamed: "SSL", mutual: "SSL", sasl: "SASL_PLAINTEXT", sasltls: "SASL_SSL"}.freeze
  USERS = {"alice" => "alice-password", "bob" => "bob-password"}.freeze

  # @return [String, nil] why there is none here
  def self.missing = BrokerProcess.missing

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
    @folder = BrokerProcess.folder
    @certificates = Certificates.new
    @authority = write("authority.pem", @certificates.authority.to_pem)
    @ports = [*LISTENERS.keys, :controller].zip(BrokerProcess.free_ports(LISTENERS.size + 1)).to_h
    @process = BrokerProcess.new(@folder, properties, @ports[:sasltls])
    @process.start
  rescue StandardError
    stop
    raise
  end

  # @param listener [Symbol] one of {LISTENERS}
  # @return [String] its address
  def address(listener, host: "127.0.0.1") = "#{host}:#{@ports.fetch(listener)}"

  # @return [Hash{Symbol=>Object}] librdkafka's settings
  def settings(listener, user: nil, password: USERS[user])
    protocol = LISTENERS.fetch(listener)
    {"bootstrap.servers": address(listener), "security.protocol": protocol.downcase,
     **({"ssl.ca.location": @authority} if protocol.end_with?("SSL")),
     **({"sasl.mechanism": "PLAIN", "sasl.username": user, "sasl.password": password} if protocol.start_with?("SASL"))}
  end

  # @return [String] a file in the broker's own folder
  def write(name, text) = File.join(@folder, name).tap { |path| File.write(path, text) }

  def stop
    @process&.kill
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
    lines = protocol.end_with?("SSL") ? BrokerProcess.keystore(name, keystore(name)) : []
    if name == :mutual
      lines.push("#{prefix}.ssl.client.auth=required", "#{prefix}.ssl.truststore.type=PEM", "#{prefix}.ssl.truststore.location=#{@authority}")
    end
    protocol.start_with?("SASL") ? lines + BrokerProcess.plain_sasl(name, USERS) : lines
  end
end
