# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"
require "tmpdir"

# An application with secrets everywhere, which consumes, produces, fails and is looked at: none of them is to be seen anywhere.
class KafkaSecretsTest < GuildhallTest
  COMMAND = File.expand_path("../../../exe/guildhall", __dir__)
  PROGRAM = <<~'RUBY'
    require "pp"
    require "stringio"
    require "guildhall/kafka"
    require "guildhall/kafka/testing"
    MARK = %w[MARKED SECRET].join("-") # this program is in the process's title
    SECRETS = {"sasl.password": MARK, "ssl.key.password": MARK, "ssl.keystore.password": MARK,
               "sasl.oauthbearer.config": "principal=#{MARK}",
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
      config.reports = true
    end
    Guildhall::Kafka.routes do
      topic("orders") do
        consumer Consumer
        kafka SECRETS
        dead_letter_queue topic: "dead", max_retries: 0
      end
    end
    seen["before the start"] = [Guildhall::Kafka.config.inspect, Guildhall::Kafka.config.pretty_inspect, Guildhall::Kafka.routes.to_s].join
    events = Thread::Queue.new
    Guildhall::Kafka.instrumentation.subscribe { |event| events << event.inspect + event.payload.pretty_inspect }
    Guildhall::Kafka.producer.produce_sync(topic: "orders", payload: "good")
    Guildhall::Kafka.producer.produce_sync(topic: "orders", payload: "bad")
    Guildhall::Kafka.start
    seen["consumer"] = DONE.pop(timeout: 60) or raise "nothing was consumed: #{log.string[-3000..]}"
    limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 30
    sleep(0.05) until log.string.include?("dead letter") || Process.clock_gettime(Process::CLOCK_MONOTONIC) > limit
    raise "no dead letter: #{log.string[-3000..]}" unless log.string.include?("dead letter")
    application = Guildhall::Kafka.application
    application.lag.each { |row| seen["lag"] = row.inspect }
    err = StringIO.new
    Guildhall::Kafka::Server.new(application, err:).send(:dump)
    seen["dump"] = err.string
    seen["reports"] = [application.check!.inspect, application.each_message("orders").map(&:inspect), application.parked_keys.inspect,
                       application.dead_letters("dead") { |letters| letters.inspect + letters.pretty_inspect }].join
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
    application.each_message("guildhall.reports", deserializer: Guildhall::Kafka::Reporting::Record) { |message| (seen["what was reported"] ||= +"") << message.payload.inspect }
    broker.stop
    seen["log"] = log.string
    seen["events"] = Array.new(events.size) { events.pop }.join
    seen["metrics"] = Array.new(Metrics::SEEN.size) { Metrics::SEEN.pop }.join
    found = seen.select { |_, text| text.include?(MARK) }
    abort("secrets in #{found.map { |name, text| "#{name}: #{text[/.{0,200}#{MARK}/m]}" }.join("\n")}") if found.any?
    ["before the start", "reports"].concat(["what was reported", *%w[consumer lag dump settings log events metrics Guildhall::Kafka::Producer Guildhall::Kafka::Application Guildhall::Kafka::Reporting::Reporter]]).each { |name| abort("nothing of #{name}") if seen[name].to_s.empty? }
  RUBY

  def test_nothing_that_is_printed_has_a_secret
    %w[text json].each { |format| assert_ruby(PROGRAM, format) }
  end

  MARK = %w[MARKED SECRET].join("-")
  # What somebody may write by mistake, with a secret in it.
  WRONG = [
    {"sasl.password": [MARK]}, {"sasl.password": {a: MARK}}, {"sasl.password": :"#{MARK}\0"}, {"sasl.pasword": MARK}, {"sasl.pasword": [MARK]},
    {"ssl.key.pem": [MARK]}, {"ssl.keypem": "#{MARK}\0"}, {"security.protocol": "ssl", "ssl.key.pem": "-----BEGIN PRIVATE KEY-----\n#{MARK}\n"},
    {"sasl.oauthbearer.token": MARK}, {"bootstrap.servers": "kafka+ssl://shop:#{MARK}@127.0.0.1:1"}, {"bootstrap.servers": "shop:#{MARK}@127.0.0.1:1"},
    {"bootstrap.servers": ["ssl://shop:#{MARK}@127.0.0.1:1"]}, {"bootstrap.server": "ssl://shop:#{MARK}@127.0.0.1:1"},
    {"client.rack": "https://shop:#{MARK}@127.0.0.1:1\0"}, "sasl.password=#{MARK}", [MARK]
  ].freeze

  def test_wrong_settings_are_told_without_their_values
    WRONG.each do |settings|
      %i[kafka producer topic].each do |place|
        application = Guildhall::Kafka::Application.new
        application.config.kafka = {"bootstrap.servers": "127.0.0.1:1"}
        case place
        when :kafka then application.config.kafka = settings.is_a?(Hash) ? {"bootstrap.servers": "127.0.0.1:1", **settings} : settings
        when :producer then application.config.producer = settings
        end
        application.routes.draw { topic("t") { consumer(Class.new(Guildhall::Kafka::Consumer) { def consume; end }) && place == :topic && kafka(settings) } }
        error = assert_raises(Guildhall::ConfigurationError, "#{place}: #{settings}") { application.validate! }
        refute_includes error.full_message + error.inspect + application.config.inspect, MARK, place
      end
    end
  end

  # Each in a process of its own, with a broker that nobody reaches.
  def test_commands_print_no_secret
    Dir.mktmpdir do |folder|
      file = File.join(folder, "application.rb")
      File.write(file, <<~APPLICATION)
        require "guildhall/kafka"
        class Handles < Guildhall::Kafka::Consumer
          def consume; end
        end
        Guildhall::Kafka.configure do |config|
          config.kafka = {"bootstrap.servers": "127.0.0.1:1", "security.protocol": "sasl_plaintext", "sasl.mechanism": "PLAIN",
                          "sasl.username": "shop", "sasl.password": ENV.fetch("SECRET"), debug: "all"}
          config.error_reports = {messages: true}
          config.shutdown_timeout = 1
        end
        Guildhall::Kafka.routes do
          topic("orders") { consumer(Handles) && kafka("sasl.password": ENV.fetch("SECRET")) && dead_letter_queue(topic: "dead") }
        end
        Thread.new { sleep(3) && Process.kill(:TTIN, 0) && sleep(1) && Process.kill(:TERM, 0) } if ARGV.include?("server")
      APPLICATION
      [%w[info], %w[routes], %w[routes --json], %w[routes --acls], %w[routes --acls --json], %w[lag], %w[keys], %w[dlq list], %w[schedule list],
       %w[server --log-level debug], %w[server --log-format json --log-level debug]].each do |command|
        arguments = command.first == "info" ? command : [*command, "-r", file]
        out, err, = run_forked(%w[guildhall/cli guildhall/kafka], COMMAND, *arguments, env: {"SECRET" => MARK})
        refute_empty out + err, command unless command.first == "schedule"
        refute_includes out + err, MARK, command
      end
    end
  end
end
