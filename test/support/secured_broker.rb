# frozen_string_literal: true

require "json"
require_relative "broker_process"
require_relative "certificates"

# A real Apache Kafka broker with TLS, SASL and rights, in a process of its own.
class SecuredBroker
  LISTENERS = {plain: "PLAINTEXT", tls: "SSL", expired: "SSL", misnamed: "SSL", mutual: "SSL", sasl: "SASL_PLAINTEXT", sasltls: "SASL_SSL",
               scram: "SASL_SSL", reauth: "SASL_SSL", oauth: "SASL_SSL"}.freeze
  SCRAM = %w[SCRAM-SHA-256 SCRAM-SHA-512].freeze
  MECHANISMS = Hash.new(%w[PLAIN].freeze).merge(scram: SCRAM, reauth: SCRAM, oauth: %w[OAUTHBEARER]).freeze
  REAUTH_SECONDS = {reauth: 3, oauth: 4}.freeze # after which a client of the listener has to authenticate again
  # Tokens are checked like any others, but for their signature, which they have none of.
  UNSECURED = "org.apache.kafka.common.security.oauthbearer.internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler"
  OAUTH_LOGIN = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub=\"broker\";"
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
    scram = USERS.flat_map { |user, password| SCRAM.flat_map { |mechanism| ["-S", "#{mechanism}=[name=#{user},password=#{password}]"] } }
    @process = BrokerProcess.new(@folder, properties, @ports[:sasltls], storage: scram)
    @process.start
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
  def settings(listener, user: nil, password: USERS[user], mechanism: MECHANISMS[listener].last)
    protocol = LISTENERS.fetch(listener)
    login = {"sasl.username": user, "sasl.password": password} unless listener == :oauth
    {"bootstrap.servers": address(listener), "security.protocol": protocol.downcase,
     **({"ssl.ca.location": @authority} if protocol.end_with?("SSL")),
     **({"sasl.mechanism": mechanism, **login} if protocol.start_with?("SASL"))}
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
    system(*BrokerProcess.java(name, "--bootstrap-server", address(:plain), *arguments), out: log, err: log) or raise "#{name}: #{File.read(log)}"
  end

  # Kills it, and lets it come back on its data.
  # @yield while it is down
  def restart
    @process.kill
    yield if block_given?
    @process.start
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
  def client_certificate(name, **)
    certificate, key = @certificates.issue(name, **)
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
    protocol.start_with?("SASL") ? lines + sasl(name, prefix) : lines
  end

  def sasl(name, prefix)
    logins = {"PLAIN" => BrokerProcess.plain_login(USERS), "OAUTHBEARER" => OAUTH_LOGIN}
    logins.default = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
    of_mechanisms = MECHANISMS[name].flat_map do |mechanism|
      own = "#{prefix}.#{mechanism.downcase}"
      session = REAUTH_SECONDS[name]
      ["#{own}.sasl.jaas.config=#{logins[mechanism]}", *("#{own}.connections.max.reauth.ms=#{session * 1_000}" if session),
       *("#{own}.sasl.server.callback.handler.class=#{UNSECURED}" if name == :oauth)]
    end
    ["#{prefix}.sasl.enabled.mechanisms=#{MECHANISMS[name].join(",")}", *of_mechanisms]
  end
end
