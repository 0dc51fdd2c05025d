# frozen_string_literal: true

require "json"
require "rbconfig"
require_relative "account"

# A member of a scenario's consumer group in a process of its own: it consumes one topic and keeps the account until it
# is told to leave, or killed.
class Member
  # @param account [Account]
  # @param pause [Numeric] seconds of work on each message
  # @return [Class]
  def self.consumer(account, pause)
    Class.new(Guildhall::Kafka::Consumer) do
      const_set(:ACCOUNT, account)
      const_set(:PAUSE, pause)
      def consume
        messages.each do |message|
          sleep(self.class::PAUSE) if self.class::PAUSE.positive?
          self.class::ACCOUNT.handled(partition, message.offset, self)
        end
      end
    end
  end

  # What the process does.
  # @return [Integer] its exit status
  def self.run(account:, topic:, group:, pause:, kafka:, settings:)
    consumer = consumer(Account.open(account), pause)
    Guildhall::Kafka.configure do |config|
      config.kafka = kafka
      config.group_id = group
      config.reader = ENV.fetch("READER", "native").to_sym
      settings.each { |name, value| config.public_send("#{name}=", value) }
    end
    Guildhall::Kafka.routes { topic(topic) { consumer consumer } }
    tell_errors
    Guildhall::Kafka.run
  end

  # For people who wonder why a scenario has failed.
  def self.tell_errors
    Guildhall::Kafka.instrumentation.subscribe("error.occurred") do |event|
      error = event.payload[:error]
      warn("member #{Process.pid}: #{event.payload[:type]}: #{error.class}: #{error.message} #{error.backtrace&.first(3)}")
    end
  end
  private_class_method :tell_errors

  # @return [Integer]
  attr_reader :pid

  # @param arguments [Hash] for {.run}
  def initialize(**arguments)
    @pid = spawn(RbConfig.ruby, __FILE__, JSON.generate(arguments))
  end

  # Asks it to stop, and waits until it has.
  # @return [Integer, String] its exit status, or the signal that ended it
  def leave
    Process.kill(:TERM, @pid)
    wait
  end

  # @return [void]
  def kill
    return unless @pid

    Process.kill(:KILL, @pid)
    wait
  end

  private

  def wait
    _, status = Process.wait2(@pid)
    @pid = nil
    return status.exitstatus if status.exited?

    # A member that was told to leave before it had begun has nothing to clean up.
    status.termsig == Signal.list["TERM"] ? 0 : Signal.signame(status.termsig)
  end
end

if $PROGRAM_NAME == __FILE__
  require "guildhall/kafka"
  Rdkafka::Config.logger = Logger.new($stderr, level: Logger::FATAL)
  exit(Member.run(**JSON.parse(ARGV.fetch(0), symbolize_names: true)))
end
