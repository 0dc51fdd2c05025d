# frozen_string_literal: true

# What every application of Karafka in the tests needs: a broker, topics that no other test uses, and checks. The application itself is
# written as the manual of Karafka says; the process ends with status 1 when a check fails.
ENV["KARAFKA_ENV"] = "production"
require_relative "../../support/default_signals"
DefaultSignals.restore
require "karafka"
require "guildhall/karafka" unless ENV["PLUGIN"] == "removed"
require "securerandom"
require_relative "../../support/warnings_raise"
require_relative "../../support/gem_client_ends"

# The broker and the checks of one application.
module KarafkaApplication
  class Failed < StandardError; end

  LIMIT = 60 # seconds
  RESULTS = Thread::Queue.new
  ERRORS = Thread::Queue.new
  GROUP = ENV["GROUP"] || "group-#{SecureRandom.hex(4)}"

  module_function

  # @return [String]
  def servers
    @servers ||= if ENV.fetch("KAFKA_BOOTSTRAP_SERVERS", "").empty?
                   require "guildhall/kafka/testing"
                   (@embedded = Guildhall::Kafka::Testing::EmbeddedBroker.start).bootstrap_servers
                 else
                   ENV.fetch("KAFKA_BOOTSTRAP_SERVERS")
                 end
  end

  # @return [String] the name of a new topic
  def topic(name, partitions: 1)
    name = "#{name}-#{SecureRandom.hex(4)}"
    servers
    return @embedded.create_topic(name, partitions:).then { name } if @embedded

    admin = Rdkafka::Config.new("bootstrap.servers": servers).admin
    admin.create_topic(name, partitions, 1).wait(max_wait_timeout_ms: 60_000)
    # The broker answers before it tells everybody; a consumer that it does not tell asks again after minutes.
    eventually("no topic #{name}") { admin.metadata.topics.any? { |one| one[:topic_name] == name && one[:partition_count] == partitions } }
    admin.close
    name
  end

  # @param settings [Hash] of Karafka
  def setup(application, **settings)
    application.setup do |config|
      config.kafka = {"bootstrap.servers": KarafkaApplication.servers, "auto.offset.reset": "earliest", "session.timeout.ms": 6_000}
      config.client_id = "test"
      config.group_id = GROUP
      config.max_wait_time = 500
      config.pause.timeout = config.pause.max_timeout = 50
      config.shutdown_timeout = 20_000
      config.logger = Logger.new($stderr, level: Logger::FATAL)
      settings.each { |name, value| config.public_send(:"#{name}=", value) }
    end
    ::Karafka.monitor.subscribe("error.occurred") { |event| ERRORS << event.payload }
  end

  # @param payloads [Array<String, nil>]
  def produce(topic, payloads, partitions: 1, **)
    messages = payloads.each_with_index.map { |payload, index| {topic:, payload:, partition: index % partitions, key: index.to_s, **} }
    messages.each_slice(1000) { |some| ::Karafka.producer.produce_many_sync(some) }
  end

  # Runs the application meanwhile.
  def run
    server = Thread.new { ::Karafka::Server.run }
    server.report_on_exception = false
    yield
    finish(server)
    puts "ok #{Guildhall::Karafka.stats if defined?(Guildhall::Karafka)}"
    $stdout.flush
    exit!(0) # Karafka's own hooks would wait for a server that was stopped here
  rescue Failed => error
    warn(error.message, *Array.new([ERRORS.size, 3].min) { ERRORS.pop(true)[:error].full_message(highlight: false) })
    exit!(1)
  end

  def finish(server)
    ::Karafka::Server.stop
    check("Karafka has not stopped") { server.join(30) }
    return unless defined?(Guildhall::Karafka)

    check("workers live on") { eventually("no threads of pools") { Guildhall::Karafka.config.concurrency.nil? || Ractor.count == 1 } || true }
  end

  # @return [Array] as many results as were asked for
  def results(count)
    limit = now + LIMIT
    Array.new(count) do |index|
      RESULTS.pop(timeout: [limit - now, 0].max) || raise(Failed, "only #{index} of #{count} within #{LIMIT} s")
    end
  end

  def eventually(what, seconds = LIMIT)
    limit = now + seconds
    until yield
      raise Failed, "not within #{seconds} s: #{what}" if now > limit

      sleep(0.01)
    end
  end

  def check(message)
    raise Failed, message unless yield
  end

  def equal(expected, actual, what)
    raise Failed, "#{what}: expected #{expected.inspect[0, 500]}, got #{actual.inspect[0, 500]}" unless expected == actual
  end

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
end
