# frozen_string_literal: true

require "json"
require "rdkafka"
require_relative "broker_process"
require_relative "certificates"
require_relative "gem_client_ends"

# Three real brokers, each a controller too: topics have three replicas, of which two have to be in sync. They talk PLAINTEXT among themselves,
# and so may a test, which then has all rights; secured ones have a listener with TLS and SASL PLAIN beside it, whose users have those
# rights that they were granted.
class Cluster
  NUMBERS = [1, 2, 3].freeze
  USERS = {"alice" => "alice-secret-4711", "bob" => "bob-secret-4712"}.freeze
  WAIT_SECONDS = 90
  RETURN_SECONDS = 300 # of a broker that has much to fetch, on a busy machine
  ANSWER_MS = 5_000
  COORDINATORS = %w[__consumer_offsets __transaction_state].freeze
  # As librdkafka counts them.
  RESOURCES = {topic: 2, group: 3, transactional_id: 5}.freeze
  OPERATIONS = {all: 2, read: 3, write: 4, create: 5, describe: 8}.freeze
  PATTERNS = {literal: 3, prefixed: 4}.freeze
  PERMISSIONS = {deny: 2, allow: 3}.freeze
  DEFAULTS = {
    "default.replication.factor" => 3, "min.insync.replicas" => 2, "offsets.topic.replication.factor" => 3, "offsets.topic.num.partitions" => 5,
    "transaction.state.log.replication.factor" => 3, "transaction.state.log.min.isr" => 2, "transaction.state.log.num.partitions" => 5,
    "share.coordinator.state.topic.replication.factor" => 3, "share.coordinator.state.topic.min.isr" => 2,
    "group.initial.rebalance.delay.ms" => 0, "auto.create.topics.enable" => false, "num.partitions" => 6,
    "leader.imbalance.check.interval.seconds" => 10, "controller.quorum.election.timeout.ms" => 1_000,
    "controller.quorum.fetch.timeout.ms" => 3_000, "replica.lag.time.max.ms" => 10_000, "num.network.threads" => 2, "num.io.threads" => 4
  }.freeze
  PARTITIONS = 6
  UNANSWERED = [Rdkafka::BaseError, Rdkafka::AbstractHandle::WaitTimeoutError].freeze # of requests that no broker has done
  private_constant :WAIT_SECONDS, :RETURN_SECONDS, :ANSWER_MS, :COORDINATORS, :RESOURCES, :OPERATIONS, :PATTERNS, :PERMISSIONS, :DEFAULTS

  # @return [String, nil] why there is none here
  def self.missing = BrokerProcess.missing

  # Blocks until all answer.
  # @yieldparam cluster [Cluster] which is stopped when the block ends
  def self.run(**)
    cluster = new(**)
    yield cluster
  ensure
    cluster&.stop
  end

  # @param secured [Boolean]
  # @param settings [Hash{String=>Object}] of the brokers, beside {DEFAULTS}
  def initialize(secured: false, settings: {})
    @secured = secured
    @own = settings
    @brokers = {}
    @topics = []
    @folders = NUMBERS.to_h { |number| [number, BrokerProcess.folder] }
    kinds = [:plain, *(:sasltls if secured), :controller]
    ports = BrokerProcess.free_ports(NUMBERS.size * kinds.size)
    @ports = NUMBERS.to_h { |number| [number, kinds.zip(ports.shift(kinds.size)).to_h] }
    secure if secured
    each_at_once { |number| @brokers[number] = BrokerProcess.new(@folders[number], properties(number), @ports[number][:plain]).tap(&:start) }
    eventually("all brokers are registered") { brokers_known == NUMBERS }
  rescue StandardError
    stop
    raise
  end

  # @return [String] for clients that have all rights
  def servers = addresses(:plain)

  # @return [Hash{Symbol=>Object}] librdkafka's settings, of a secured cluster's user
  def settings(user)
    {"bootstrap.servers": addresses(:sasltls), "security.protocol": "sasl_ssl", "ssl.ca.location": @authority, "sasl.mechanism": "PLAIN",
     "sasl.username": user, "sasl.password": USERS.fetch(user)}
  end

  # An orderly end of one broker, as at a deployment. Blocks until it has ended.
  def term(number) = @brokers[number].term

  # With -9; what it has stored stays.
  def kill(number) = @brokers[number].kill

  # It keeps its connections, and answers nothing.
  def freeze(number) = @brokers[number].freeze

  def thaw(number) = @brokers[number].thaw

  # Starts it again on what it has stored. Blocks until it answers.
  def resume(number) = @brokers[number].start

  # @return [Array<Integer>] brokers whose process lives
  def running = NUMBERS.select { |number| @brokers[number]&.running? }

  # One after the other is ended in order, and started again when it answers.
  def rolling_restart
    NUMBERS.each do |number|
      term(number)
      resume(number)
      eventually("broker #{number} is back, and all replicas are in sync", RETURN_SECONDS) { brokers_known == NUMBERS && in_sync? }
      yield number if block_given?
    end
  end

  # @return [Integer, nil] nil: it has none
  def leader_of(topic, partition) = partitions_of(topic)[partition]&.dig(:leader, :id)&.then { |leader| leader if leader.positive? }

  # The brokers do not tell it to clients; what the controllers keep on disk does.
  # @return [Integer, nil] the controller that leads the others; nil: they elect one
  def controller
    votes = NUMBERS.filter_map do |number|
      JSON.parse(File.read(File.join(@folders[number], "data/__cluster_metadata-0/quorum-state")))
    rescue SystemCallError, JSON::ParserError
      nil # it is being written
    end
    leader = votes.max_by { |vote| vote["leaderEpoch"] }&.fetch("leaderId")
    leader if leader&.positive?
  end

  # Blocks until all brokers know it.
  # @return [String] its name
  def create_topic(name, partitions: PARTITIONS, replication: 3, settings: {})
    admin { |admin| admin.create_topic(name, partitions, replication, settings).wait(max_wait_timeout_ms: 60_000) }
    eventually("topic #{name} has leaders") { (0...partitions).all? { |partition| leader_of(name, partition) } }
    @topics << name
    name
  end

  # @param resource [Symbol] one of {RESOURCES}
  # @param operation [Symbol] one of {OPERATIONS}
  def allow(user, resource, name, operation = :all, pattern: :prefixed) = acl(:create, user, resource, name, operation, pattern, :allow)

  # Takes a right away until {#undeny}, whatever is allowed.
  def deny(user, resource, name, operation) = acl(:create, user, resource, name, operation, :literal, :deny)

  def undeny(user, resource, name, operation) = acl(:delete, user, resource, name, operation, :literal, :deny)

  # @return [Boolean] whether all replicas of what {#create_topic} has made, and of the coordinators' topics, have what their leaders have
  def in_sync?
    known = describe(*@topics, *COORDINATORS).reject { |topic| topic[:error] && COORDINATORS.include?(topic[:name]) }
    known.any? && known.all? { |topic| topic[:partitions].any? && topic[:partitions].all? { |one| one[:isr].size == one[:replicas].size } }
  end

  # Kills the brokers, and removes what they have stored.
  # @param keep [String, nil] a folder that is to have it instead
  def stop(keep: nil)
    @brokers&.each_value(&:kill)
    @folders&.each { |number, folder| keep ? FileUtils.mv(folder, File.join(keep, "broker-#{number}")) : FileUtils.rm_rf(folder) }
  end

  # Blocks.
  def eventually(what, seconds = WAIT_SECONDS)
    limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
    until yield
      raise "not within #{seconds} s: #{what}" if Process.clock_gettime(Process::CLOCK_MONOTONIC) > limit

      sleep(0.2)
    end
  end

  private

  def addresses(listener) = @ports.each_value.map { |ports| "127.0.0.1:#{ports.fetch(listener)}" }.join(",")

  def each_at_once(&) = NUMBERS.map { |number| Thread.new { yield(number) }.tap { |thread| thread.report_on_exception = false } }.each(&:value)

  def secure
    certificates = Certificates.new
    @authority = File.join(@folders[1], "authority.pem")
    File.write(@authority, certificates.authority.to_pem)
    @keystores = @folders.transform_values do |folder|
      File.join(folder, "broker.pem").tap { |file| File.write(file, certificates.pem("broker", subjectAltName: "DNS:localhost,IP:127.0.0.1")) }
    end
  end

  def properties(number)
    listeners = @ports[number].map { |name, port| "#{name.upcase}://127.0.0.1:#{port}" }
    lines = [
      "process.roles=broker,controller", "node.id=#{number}",
      "controller.quorum.voters=#{NUMBERS.map { |one| "#{one}@127.0.0.1:#{@ports[one][:controller]}" }.join(",")}",
      "listeners=#{listeners.join(",")}", "advertised.listeners=#{listeners[..-2].join(",")}",
      "controller.listener.names=CONTROLLER", "inter.broker.listener.name=PLAIN",
      "listener.security.protocol.map=PLAIN:PLAINTEXT,SASLTLS:SASL_SSL,CONTROLLER:PLAINTEXT"
    ]
    lines.concat(BrokerProcess.keystore(:sasltls, @keystores[number]), BrokerProcess.plain_sasl(:sasltls, USERS), RIGHTS) if @secured
    [*lines, *{**DEFAULTS, **@own}.map { |name, value| "#{name}=#{value}" }].join("\n")
  end

  RIGHTS = ["authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer", "super.users=User:ANONYMOUS"].freeze
  private_constant :RIGHTS

  def acl(action, user, resource, name, operation, pattern, permission)
    admin do |admin|
      admin.public_send(:"#{action}_acl", resource_type: RESOURCES.fetch(resource), resource_name: name, resource_pattern_type: PATTERNS.fetch(pattern),
        principal: "User:#{user}", host: "*", operation: OPERATIONS.fetch(operation), permission_type: PERMISSIONS.fetch(permission))
        .wait(max_wait_timeout_ms: 60_000)
    end
  end

  def brokers_known
    admin { |admin| admin.describe_cluster.wait(max_wait_timeout_ms: ANSWER_MS).nodes.map { |node| node[:id] }.sort }
  rescue *UNANSWERED
    nil # none answers now
  end

  def partitions_of(topic) = describe(topic).first&.fetch(:partitions)&.sort_by { |one| one[:partition] } || []

  def describe(*names)
    admin { |admin| admin.describe_topics(names).wait(max_wait_timeout_ms: ANSWER_MS).topics }
  rescue *UNANSWERED
    []
  end

  # A new client each time: one that knew brokers that have ended would ask those first.
  def admin
    admin = Rdkafka::Config.new("bootstrap.servers": servers, log_level: 0).admin
    yield admin
  ensure
    admin&.close
  end
end
