# frozen_string_literal: true

require "test_helper"

# An application with secrets everywhere, which consumes, produces, fails and is looked at: none of them is to be seen anywhere.
class KafkaSecretsTest < GuildhallTest
  PROGRAM = <<~'RUBY'
    require "pp"
    require "stringio"
    require "guildhall/kafka"
    require "guildhall/kafka/testing"
    MARK = %w[MARKED SECRET].join("-") # this program is in the process's title
    SECRETS = {"sasl.password": MARK, "ssl.key.password": MARK, "ssl.keystore.password": MARK,
               "ssl.key.pem": "-----BEGIN PRIVATE KEY-----\n#{MARK}\n-----END PRIVATE KEY-----\n"}.freeze
    seen = {}
    log = StringIO.new
    class Consumer < Guildhall::Kafka::Consumer
      def consume
        messages.each { |message| message.payload == "bad" ? raise("bad") : nil }
        DONE << [inspect, producer.inspect, self.class.inspect].join
        produce_sync(topic: "results", payload: "1") if topic.transactional
      end
    end
    class Metrics
      SEEN = Thread::Queue.new
      def record(metric, value, tags) = SEEN << [metric.name, value, tags].inspect
    end
    DONE = Thread::Queue.new
    broker = Guildhall::Kafka::Testing::EmbeddedBroker.start
    %w[orders results dead].each { |name| broker.create_topic(name, partitions: 1) }
    Guildhall::Kafka.reset(lag_interval: 0.1)
    Guildhall::Kafka.configure do |config|
      config.kafka = {"bootstrap.servers": broker.bootstrap_servers, "auto.offset.reset": "earliest", debug: "all", **SECRETS}
      config.producer = SECRETS
      config.logger = Guildhall::Kafka::Logging.logger(log, level: "debug", format: ARGV.first)
      config.metrics << Metrics.new
    end
    Guildhall::Kafka.routes do
      topic("orders") do
        consumer Consumer
        kafka SECRETS
        dead_letter_queue topic: "dead", max_retries: 0
      end
    end
    events = Thread::Queue.new
    Guildhall::Kafka.instrumentation.subscribe { |event| events << event.inspect + event.payload.pretty_inspect }
    Guildhall::Kafka.producer.produce_sync(topic: "orders", payload: "good")
    Guildhall::Kafka.producer.produce_sync(topic: "orders", payload: "bad")
    Guildhall::Kafka.start
    seen["consumer"] = DONE.pop(timeout: 30) or raise "nothing was consumed: #{log.string[-3000..]}"
    limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 30
    sleep(0.05) until log.string.include?("dead letter") || Process.clock_gettime(Process::CLOCK_MONOTONIC) > limit
    raise "no dead letter: #{log.string[-3000..]}" unless log.string.include?("dead letter")
    application = Guildhall::Kafka.application
    application.lag.each { |row| seen["lag"] = row.inspect }
    err = StringIO.new
    Guildhall::Kafka::Server.new(application, err:).send(:dump)
    seen["dump"] = err.string
    seen["title"] = File.read("/proc/self/cmdline") if File.exist?("/proc/self/cmdline")
    seen["settings"] = [application.config.kafka, application.config.producer, application.client_settings(application.routes.topics.first)].pretty_inspect
    seen["transactions"] = application.transactional_producer("id").inspect
    GC.start
    ObjectSpace.each_object(Object) do |object|
      name = Object.instance_method(:class).bind_call(object).name.to_s
      next unless name.match?(/\A(?:Guildhall::Kafka|Rdkafka)/) && !seen.key?(name)

      seen[name] = object.inspect
    rescue StandardError, NotImplementedError => error
      seen[name] = error.full_message
    end
    Guildhall::Kafka.stop
    broker.stop
    seen["log"] = log.string
    seen["events"] = Array.new(events.size) { events.pop }.join
    seen["metrics"] = Array.new(Metrics::SEEN.size) { Metrics::SEEN.pop }.join
    found = seen.select { |_, text| text.include?(MARK) }
    abort("secrets in #{found.map { |name, text| "#{name}: #{text[/.{0,200}#{MARK}/m]}" }.join("\n")}") if found.any?
    %w[consumer lag dump settings log events metrics Guildhall::Kafka::Producer Guildhall::Kafka::Application].each { |name| abort("nothing of #{name}") if seen[name].to_s.empty? }
  RUBY

  def test_nothing_that_is_printed_has_a_secret
    %w[text json].each { |format| assert_ruby(PROGRAM, format) }
  end
end
