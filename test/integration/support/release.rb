# frozen_string_literal: true

require "guildhall/kafka"
require "json"
require "rbconfig"
require_relative "account"

# One process of a release of an application, which a scenario starts and stops as a deploy does. It consumes three topics: one as it is,
# one ordered by key, and one in virtual partitions; and notes in a journal, which all processes share, what it is assigned and what is
# revoked.
class Release
  READY = 3 # the file descriptor that is closed when it runs

  # Each attempt as it is.
  class Plain < Guildhall::Kafka::Consumer
    def consume
      messages.each do |message|
        sleep(0.001)
        ACCOUNT.handled("#{topic.name}/#{partition}", message.offset, self)
      end
    end
  end

  # In order within a key: "KEY NUMBER".
  class ByKey < Guildhall::Kafka::Consumer
    def consume
      messages.each_marking do |message|
        sleep(0.001)
        ACCOUNT.handled("#{topic.name}/#{message.key}", Integer(message.raw_payload), Thread.current)
      end
    end
  end

  # What the process does.
  # @return [Integer] its exit status
  def self.run(account:, journal:, topics:, group:, kafka:, settings:)
    const_set(:ACCOUNT, Account.open(account))
    Guildhall::Kafka.configure do |config|
      config.kafka = kafka
      config.group_id = group
      settings.each { |name, value| config.public_send("#{name}=", value.is_a?(String) ? value.to_sym : value) }
    end
    draw(*topics)
    Guildhall::Kafka.instrumentation.subscribe("rebalance.partitions_assigned", "rebalance.partitions_revoked") do |event|
      what = event.name.delete_prefix("rebalance.partitions_")
      event.payload[:partitions].each { |pair| note(journal, what, pair.join("/")) }
    end
    Guildhall::Kafka.instrumentation.subscribe("protocol.refused") { |event| note(journal, "refused", event.payload[:reason]) }
    Guildhall::Kafka.instrumentation.subscribe("error.occurred") do |event|
      warn("process #{Process.pid}: #{event.payload[:type]}: #{event.payload[:error].class}: #{event.payload[:error].message}")
    end
    Guildhall::Kafka.instrumentation.subscribe("app.running") { IO.for_fd(READY, "w").close }
    Guildhall::Kafka.run
  end

  # One write, so that lines of several processes never mix.
  def self.note(journal, what, which) = File.write(journal, "#{Process.pid} #{what} #{which}\n", mode: "a")

  def self.draw(plain, ordered, virtual)
    Guildhall::Kafka.routes do
      topic(plain) { consumer Plain }
      topic(ordered) do
        consumer ByKey
        ordering :key
      end
      topic(virtual) do
        consumer ByKey
        virtual_partitions partitioner: ->(message) { message.key }
      end
    end
  end
  private_class_method :draw, :note

  attr_reader :pid

  # @param arguments [Hash] for {.run}
  def initialize(**arguments)
    @ready, writer = IO.pipe
    @pid = spawn(RbConfig.ruby, __FILE__, JSON.generate(arguments), READY => writer)
    writer.close
  end

  # As a supervisor does.
  # @return [Integer, String] its exit status, or the signal that ended it
  def stop(signal = :TERM)
    @ready.wait_readable(30)
    Process.kill(signal, @pid)
    _, status = Process.wait2(@pid)
    @pid = nil
    @ready.close
    status.exited? ? status.exitstatus : Signal.signame(status.termsig)
  end

  def kill = @pid && stop(:KILL)
end

if $PROGRAM_NAME == __FILE__
  Rdkafka::Config.logger = Logger.new($stderr, level: Logger::FATAL)
  exit(Release.run(**JSON.parse(ARGV.fetch(0), symbolize_names: true)))
end
