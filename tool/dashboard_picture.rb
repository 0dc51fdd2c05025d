# frozen_string_literal: true

# The dashboard's pictures in the READMEs: a shop consumes from a real broker for some minutes, one of its services goes away, and a new
# release has an error; then Chromium looks at the page, in the light and the dark theme. For a broker that may be filled:
# KAFKA_BOOTSTRAP_SERVERS=localhost:9092 bin/console tool/dashboard_picture.rb [MINUTES [PORT]]
require "ferrum"
require "guildhall/web"
require "puma"
require "puma/server"

# What consumes, and what goes wrong.
module Shop
  SERVERS = ENV.fetch("KAFKA_BOOTSTRAP_SERVERS") { abort("name a broker that may be filled in KAFKA_BOOTSTRAP_SERVERS") }
  TOPICS = {"orders" => 8, "payments" => 4, "emails" => 4, "orders.dead" => 1}.freeze
  PROCESSES = 4
  BROKEN = Struct.new(:release, :service).new(false, false)

  # The new release has an error.
  class OrdersConsumer < Guildhall::Kafka::Consumer
    def consume
      messages.each do |message|
        sleep(0.004)
        raise KeyError, "key not found: \"price\"" if BROKEN.release && message.offset % 97 == 5

        mark_as_consumed(message)
      end
    end
  end

  # Its service goes away.
  class PaymentsConsumer < Guildhall::Kafka::Consumer
    def consume
      messages.each do |message|
        sleep(0.004)
        raise Errno::ECONNREFUSED, "connect(2) for api.bank.example:443" if BROKEN.service && partition == 2

        mark_as_consumed(message)
      end
    end
  end

  # Nothing is wrong with it.
  class EmailsConsumer < Guildhall::Kafka::Consumer
    def consume = messages.each { |message| sleep(0.002) && mark_as_consumed(message) }
  end

  def self.configure(host, release)
    Guildhall::Kafka::ProcessName.define_singleton_method(:host) { |*| host } # as if each were a machine
    Guildhall::Kafka.configure do |config|
      config.kafka = {"bootstrap.servers": SERVERS, log_level: 3}
      config.client_id = config.group_id = "shop"
      config.release = release
      config.reports = true
      config.logger = nil
    end
    Guildhall::Kafka.routes do
      topic("orders") do
        consumer OrdersConsumer
        deserializer Guildhall::JSON.lazy
        dead_letter_queue topic: "orders.dead", max_retries: 0
      end
      topic("payments") { consumer(PaymentsConsumer) && deserializer(Guildhall::JSON.lazy) }
      topic("emails") { consumer(EmailsConsumer) && deserializer(Guildhall::JSON.lazy) }
    end
  end

  RELEASES = %w[4f1c2e9 a03b771].freeze

  # @return [Integer] a process of this file
  def self.start(number, release: RELEASES.first)
    Process.spawn(File.expand_path("../bin/console", __dir__), __FILE__, "consume", number.to_s, release)
  end

  def self.consume(number, release)
    configure("shop-consumer-#{number}", release)
    BROKEN.release = release != RELEASES.first
    trap("USR1") { BROKEN.service = true }
    trap("TERM") { Guildhall::Kafka.stop }
    Guildhall::Kafka.start
    Guildhall::Kafka.application.wait_stopped
  end

  def self.produce(producer, seconds)
    limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
    @id = @id.to_i
    while Process.clock_gettime(Process::CLOCK_MONOTONIC) < limit
      producer.produce_many_async(%w[orders payments payments emails].flat_map do |topic|
        Array.new(4) { {topic:, key: "cus_#{(@id += 1) % 500}", payload: JSON.generate(id: @id, total: @id % 90)} }
      end)
      sleep(0.1)
    end
  end
end

def picture(port, theme, path)
  browser = Ferrum::Browser.new(base_url: "http://127.0.0.1:#{port}", window_size: [1280, 860], timeout: 60, process_timeout: 60,
    browser_options: {"no-sandbox" => nil, "disable-gpu" => nil, "hide-scrollbars" => nil})
  browser.go_to("/?theme=#{theme}")
  browser.screenshot(path:, format: "webp", quality: 80)
  puts format("%s: %.0f KB", path, File.size(path) / 1000.0)
ensure
  browser&.quit
end

if ARGV.first == "consume"
  Shop.consume(*ARGV.drop(1))
  exit
end

MINUTES = Integer(ARGV.fetch(0, 25))
Shop.configure("dashboard", nil)
application = Guildhall::Kafka.application
application.admin do |admin|
  known = admin.topics.list.map(&:name)
  Shop::TOPICS.except(*known).each { |name, partitions| admin.topics.create(name, partitions:) }
end
processes = (1..Shop::PROCESSES).to_h { |number| [number, Shop.start(number)] }
producer = application.producer
Shop.produce(producer, MINUTES * 36)
[3, 4].each do |number|
  Process.kill(:TERM, processes[number]) && Process.wait(processes[number])
  processes[number] = Shop.start(number, release: Shop::RELEASES.last)
  Shop.produce(producer, 10)
end
Shop.produce(producer, MINUTES * 9)
processes.each_value { |pid| Process.kill(:USR1, pid) }
Shop.produce(producer, MINUTES * 15)

web = Guildhall::Web.new(authorize: ->(*) { "ada@shop.example" }, read_only: true)
server = Puma::Server.new(web, nil, min_threads: 1, max_threads: 3, log_writer: Puma::LogWriter.null)
port = server.add_tcp_listener("127.0.0.1", Integer(ARGV.fetch(1, 0))).addr[1]
served = server.run
begin
  %w[light dark].each { |theme| picture(port, theme, File.expand_path("../docs/images/dashboard-#{theme}.webp", __dir__)) }
ensure
  server.stop
  served.join
  web.close
  processes.each_value { |pid| Process.kill(:TERM, pid) && Process.wait(pid) }
  producer.close
end
