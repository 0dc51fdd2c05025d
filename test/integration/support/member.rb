# frozen_string_literal: true

require "json"
require "rbconfig"
require_relative "account"

# A member of a scenario's consumer group in a process of its own: it consumes one topic and keeps the account until it
# is asked to leave, or killed.
class Member
  READY = 3 # the file descriptor that is closed when it runs

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
      settings.each { |name, value| config.public_send("#{name}=", value) }
    end
    Guildhall::Kafka.routes { topic(topic) { consumer consumer } }
    tell_errors
    Guildhall::Kafka.instrumentation.subscribe("app.running") { IO.for_fd(READY, "w").close }
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
    @ready, writer = IO.pipe
    @pid = spawn(RbConfig.ruby, __FILE__, JSON.generate(arguments), READY => writer)
    writer.close
  end

  # Asks it to stop once it runs (Ruby ends with status 1 if it is asked while it starts), and waits until it has.
  # @return [Integer, String] its exit status, or the signal that ended it
  def leave
    @ready.wait_readable(30)
    Process.kill(:TERM, @pid)
    wait
  end

  # Waits until it has ended by itself.
  # @return [Integer, String] its exit status, or the signal that ended it
  def ended
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
    @ready.close
    status.exited? ? status.exitstatus : Signal.signame(status.termsig)
  end
end

if $PROGRAM_NAME == __FILE__
  require "guildhall/kafka"
  Rdkafka::Config.logger = Logger.new($stderr, level: Logger::FATAL)
  exit(Member.run(**JSON.parse(ARGV.fetch(0), symbolize_names: true)))
end
