# frozen_string_literal: true

# What a developer does: `rails new`, the generators, a guide followed word for word, a consumer, an ordered job that fails twice, metrics, probes,
# a stop; the pool in Puma's cluster mode; `bin/dev` without a broker, and a mistake while it runs. With the time of each step. Usage: tour.rb
# RAILS; on the broker that KAFKA_BOOTSTRAP_SERVERS names, or else on the embedded one;
# with the gems that are installed in the GEM_HOME that BUILT_GEMS names, or else with the checkout.
require_relative "../../support/default_signals"
DefaultSignals.restore
require_relative "../../support/guide"
require "guildhall/kafka"
require "guildhall/kafka/testing"
require "json"
require "net/http"
require "securerandom"
require "tmpdir"
require_relative "../../../tool/built_gems"
require_relative "application"

# The steps, in their order.
class Tour
  LIMIT = Integer(ENV.fetch("TOUR_LIMIT", "60")) # seconds, for what is waited for
  JOB = <<~'RUBY'
    class ShipJob < ActiveJob::Base
      queue_as ENV.fetch("JOBS")
      guildhall_options key: ->(job) { job.arguments.first }
      retry_on KeyError, wait: 0, attempts: 5

      def perform(customer, number)
        raise KeyError, "not yet" if number == 1 && executions < 3

        Shipment.create!(customer:, number:, by: Current.user, executions:)
      end
    end
  RUBY
  CONSUMER = <<~'RUBY'
    class OrdersConsumer < ApplicationConsumer
      def consume
        raise ArgumentError, "boom" if messages.payloads.any? { |order| order["number"] == -1 } && attempt == 1

        Order.insert_all(messages.payloads.map { |order| {number: order["number"], topic: Current.user || topic_name} })
        Current.user = "left behind"
      end
    end
  RUBY
  SLOW = <<~'RUBY'
    class SlowJob < ActiveJob::Base
      queue_as ENV.fetch("JOBS")

      def perform
        file = Rails.root.join("tmp/slow")
        file.write("")
        sleep(0.02) while file.exist?
      end
    end
  RUBY
  TRACKER = <<~'RUBY'
    class Tracker
      def report(error, handled:, severity:, context:, source: nil)
        line = [error.message, source, *context.values_at(:type, :group, :topic, :partition, :offset)].join(" ")
        Rails.root.join("tmp/errors").open("a") { |file| file.puts(line) }
      end
    end
    Rails.error.subscribe(Tracker.new)
    ActiveSupport::Notifications.subscribe("consumed.consumer.guildhall") { Rails.root.join("tmp/notified").write("") }
  RUBY
  SPEC = <<~'RUBY'
    require "rails_helper"
    require "guildhall/kafka/testing/rspec"

    RSpec.describe SpecifiedConsumer do
      let(:topic) { Guildhall::Kafka::Testing.topic("specified") }

      it "has matchers" do
        topic.deliver(Guildhall::Kafka::Testing.message({"status" => "new", "cents" => 1}, key: "1"), "{")
        expect(topic).to have_marked.and have_dead_lettered(payload: "{", times: 1)
        expect(topic).not_to have_produced
        expect { Guildhall::Kafka.producer.produce_sync(topic: "mails", payload: {id: 7}.to_json) }.to have_produced(payload: a_hash_including("id" => 7))
      end

      it "is not met where nothing was delivered" do
        expect { expect(topic).to have_marked }.to raise_error(Guildhall::ArgumentError, /nothing was delivered/)
      end
    end
  RUBY
  SETTINGS = <<~'RUBY'
    config.health = {port: Integer(ENV.fetch("HEALTH_PORT", 9292)), host: "127.0.0.1"}
    config.metrics << Guildhall::Kafka::Metrics::Prometheus.new
    config.max_consume_time = 2
    config.kafka[:"session.timeout.ms"] = 6_000
  RUBY
  CURRENT = <<~'RUBY'
    class Current < ActiveSupport::CurrentAttributes
      attribute :user
    end
  RUBY

  GENERATORS = <<~'RUBY'
    require "rails/generators"
    Rails.application.load_generators
    def consumer(behavior, *arguments) = Rails::Generators.invoke("guildhall:consumer", arguments, behavior:, destination_root: Rails.root.to_s)
    def tree = Dir[Rails.root.join("{app/consumers,test,config}/**/*.{rb,yml}")].to_h { |path| [path, File.read(path)] }
    before = tree
    kinds = %w[json msgpack yaml none].map { |codec| ["Shop::#{codec.capitalize}", "--topic", "shop.#{codec}", "--codec", codec] }
    [*kinds, ["Shop::Stock", "--topic", "shop.stock", "--upsert", "Nothing"]].each do |arguments|
      consumer(:invoke, *arguments)
      abort("nothing was generated") if tree == before
      consumer(:revoke, *arguments)
      abort("left: #{(tree.to_a - before.to_a).inspect}") unless tree == before
    end
    class Ledger
      def self.connection_db_config = Struct.new(:adapter).new("trilogy")
      def self.columns = []
    end
    ledger = ["Ledgers", "--upsert", "Ledger", "--unique-by", "number"]
    consumer(:invoke, *ledger)
    abort("of MariaDB") unless tree.fetch(Rails.root.join("app/consumers/ledgers_consumer.rb").to_s).include?("Ledger.upsert_all(rows)\n")
    consumer(:revoke, *ledger)
    dev = Rails.root.join("bin/dev")
    ours = dev.read
    abort("bin/dev: #{ours}") unless ours.include?("bin/guildhall")
    install = ->(behavior) { Rails::Generators.invoke("guildhall:install", %w[--force], behavior:, destination_root: Rails.root.to_s) }
    install.call(:revoke)
    rails = dev.read
    abort("left of bin/dev: #{rails}") unless rails.lines.size == 2 && rails.include?('exec "./bin/rails", "server"')
    ["exec foreman start -f Procfile.dev\n", "exec mine\n"].each do |text|
      dev.write(text)
      install.call(:invoke)
      abort("bin/dev was changed: #{dev.read}") unless dev.read == text
      install.call(:revoke)
    end
    dev.write(rails)
    install.call(:invoke)
    abort("bin/dev: #{dev.read}") unless dev.read == ours && dev.executable?
    abort("left: #{(tree.to_a - before.to_a).inspect}") unless tree == before
    consumer(:invoke, "Left", "--topic", "other")
    consumer(:revoke, "Left")
    Rails.root.join("config/guildhall.rb").write(before.fetch(Rails.root.join("config/guildhall.rb").to_s))
    puts $LOADED_FEATURES.grep(%r{/guildhall/}).map { |path| "loaded #{path}" }
  RUBY

  # A pool, and a dashboard, that were used before the fork, as an initializer may do.
  WARM = <<~'RUBY'
    require "guildhall/web"
    DASHBOARD = Guildhall::Web.new(authorize: ->(request, *) { request.get_header("HTTP_X_USER") })
    Rails.application.config.after_initialize { DASHBOARD.call(Rack::MockRequest.env_for("/topics", "HTTP_X_USER" => "warm")) if ENV["PUMA"] }
    Rails.application.config.after_initialize { Guildhall.pool.map(%w[warm], Shout, parallel: true) if ENV["PUMA"] }
  RUBY
  SHOUT = <<~'RUBY'
    module Shout
      def self.call(word) = [word.upcase, Ractor.main?]
    end
  RUBY
  SHOUTS = <<~'RUBY'
    class ShoutsController < ActionController::Base
      def index = render(json: {process: Process.pid, shouts: Guildhall.pool.map(params[:words].split, Shout, parallel: true)})
    end
  RUBY
  PUMA = <<~'RUBY'
    workers 2
    threads 2, 2
    preload_app!
    bind "tcp://127.0.0.1:#{ENV.fetch("PUMA")}"
  RUBY

  def initialize(version)
    @folder = File.realpath(Dir.mktmpdir)
    @built = BuiltGems.new(ENV["BUILT_GEMS"]) if ENV.key?("BUILT_GEMS")
    @application = GeneratedApplication.new(@folder, version, built: @built)
    id = SecureRandom.hex(4)
    @orders = "orders-#{id}"
    @jobs = "jobs-#{id}"
    @version = version
  end

  def run
    began = now
    start_broker
    steps.each { |name, step| time(name) { step.call } }
    puts format("ok Rails %s, %s, %.1f s", @version, @built ? "built gems" : "checkout", now - began)
  rescue StandardError => error
    warn(error.full_message(highlight: false), *what_it_does, *log_lines)
    exit(1)
  ensure
    kill
    @broker&.stop
    FileUtils.rm_rf(@folder)
  end

  private

  def steps
    {
      "bundle" => -> { @application.bundle },
      "rails new" => -> { @application.create },
      "guildhall:install" => -> { install },
      "all generators, and back" => -> { generators },
      "consumers from schemas" => -> { schemas },
      "a consumer, models, a job" => -> { write },
      "db:migrate" => -> { @application.rails("db:migrate") },
      "the generated test" => -> { generated_test },
      "bulk upserts, by the guide" => -> { upserts },
      **(@version == "8.1" ? {"with RSpec" => -> { specs }} : {}),
      "bin/guildhall routes" => -> { routes },
      "bin/guildhall server" => -> { serve },
      "consumed" => -> { consumed },
      "jobs" => -> { jobs },
      "code is reloaded" => -> { reload },
      "an error is reported" => -> { report },
      "the outbox" => -> { outbox },
      "metrics scraped" => -> { metrics },
      "a probe while draining" => -> { drain },
      "stop" => -> { stop },
      "production, eagerly loaded" => -> { production },
      "Puma, two processes" => -> { puma },
      "a process of Puma dies" => -> { restart },
      "Puma stops" => -> { stop_puma },
      "bin/dev without a broker" => -> { dev },
      "a mistake, and its repair" => -> { mistake },
      "bin/dev stops" => -> { stop_dev }
    }
  end

  def start_broker
    @servers = ENV.fetch("KAFKA_BOOTSTRAP_SERVERS", "")
    if @servers.empty?
      @broker = Guildhall::Kafka::Testing::EmbeddedBroker.start
      @servers = @broker.bootstrap_servers
    end
    [@orders, @jobs].each { |topic| create_topic(topic) }
    # The server of another process cannot create topics in the embedded broker.
    delayed = Guildhall::Kafka::Delaying::DelayTopics::DEFAULT.map { |seconds| "shop.delay.#{seconds}" }
    [*delayed, "shop.delay.dead", "#{@jobs}.dead"].each { |topic| create_topic(topic) } if @broker
    @port = free_port
    ENV["KAFKA_BOOTSTRAP_SERVERS"] = @servers # else each command of Rails' would start a broker for development
    @environment = {"HEALTH_PORT" => @port.to_s, "KAFKA_BOOTSTRAP_SERVERS" => @servers, "ORDERS" => @orders, "JOBS" => @jobs}
  end

  def free_port = TCPServer.open("127.0.0.1", 0) { |server| server.addr[1] }

  def create_topic(name)
    return @broker.create_topic(name, partitions: 2) if @broker

    admin = Rdkafka::Config.new("bootstrap.servers": @servers).admin
    admin.create_topic(name, 2, 1).wait(max_wait_timeout_ms: 60_000)
  ensure
    admin&.close
  end

  # Into a Procfile whose last line somebody has not ended; twice.
  def install
    @application.write("Procfile.dev", "web: bin/rails server")
    said = Array.new(2) { @application.rails("generate", "guildhall:install", "--skip") }
    check(said.all? { |text| text.include?("bin/dev starts the consumers") }, said.first)
    lines = File.readlines(File.join(@application.root, "Procfile.dev"), chomp: true)
    check(lines == ["web: bin/rails server", "consumer: bin/guildhall server"], "Procfile.dev: #{lines}")
  end

  # One that is taken back with the same options leaves nothing; with others, its route, and says so. In one process, as each start takes seconds.
  def generators
    names = Dir[File.join(Environment::ROOT, "lib/generators/guildhall/*/")].map { |folder| "guildhall:#{File.basename(folder)}" }.sort
    check(names == %w[guildhall:consumer guildhall:install guildhall:jobs guildhall:outbox], "generators that are not run here: #{names}")
    check(File.executable?(File.join(@application.root, "bin/guildhall-probe")), "no probe")
    settings = File.read(File.join(@application.root, "config/guildhall.rb"))
    check(settings.include?("\n  config.producer = {\"message.timeout.ms\": 10_000}\n"), "producing has no limit")
    check(settings.include?("\nrequire \"guildhall/active_record\"\n"), "Active Record does not know Documents")
    said = @application.rails("runner", GENERATORS)
    check(said.scan(%r{^bin/dev starts the consumers|^Start bin/guildhall server beside bin/dev}).tally.values.sort == [1, 2], said)
    check(said.match?(%r{config/guildhall.rb:\d+ still routes to LeftConsumer, differently than generated: remove that route}), said)
    loaded = said.lines(chomp: true).grep(/\Aloaded /).map { |line| line.delete_prefix("loaded ") }
    check(loaded.any? && loaded.all? { |path| path.start_with?(@built ? @built.home : Environment::ROOT) }, "loaded from #{loaded}")
  end

  # One schema is there, the other is made. The test delivers what they ask for.
  def schemas
    @application.write("app/schemas/order.json", '{"type": "object", "required": ["id", "lines"], "properties": {"id": {"type": "integer"}, ' \
                                                 '"lines": {"type": "array"}}}')
    kinds = {"Orders" => "app/schemas/order.json", "Events" => "app/schemas/event.avsc"}
    kinds.each { |name, schema| @application.rails("generate", "guildhall:consumer", name, "--schema", schema) }
    out = @application.run(RbConfig.ruby, "-W0", "bin/rails", "test", env: @environment)
    check(out.match?(/2 runs, \d+ assertions, 0 failures, 0 errors/), "tests of consumers from schemas: #{out}")
    kinds.each { |name, schema| @application.rails("destroy", "guildhall:consumer", name, "--schema", schema) }
  end

  def write
    @application.rails("generate", "model", "Order", "number:integer", "topic:string", "--no-fixture", "--no-test-framework")
    @application.rails("generate", "model", "Shipment", "customer:string", "number:integer", "by:string", "executions:integer", "--no-test-framework")
    @application.rails("generate", "guildhall:consumer", "Orders", "--topic", @orders, "--codec", "json")
    %w[outbox jobs outbox].each { |name| @application.rails("generate", "guildhall:#{name}") } # the first one again, as after an upgrade
    migrations = Dir[File.join(@application.root, "db/migrate/*")].map { |file| File.basename(file)[/\d+_(\D+)/, 1] }
    check((%w[create_guildhall_outbox.rb create_guildhall_jobs.rb update_guildhall_outbox_to_] - migrations).empty?, migrations.to_s)
    settings = File.read(File.join(@application.root, "config/guildhall.rb"))
    check(settings.match?(/^Guildhall::Kafka.configure do \|config\|\n  # .*\n  config.outbox = true\n  # .*\n  config.concurrency = 4\n/),
      "the outbox is not switched on")
    check(settings.include?("dead_letter_queue topic: \"#{@orders}.dead\", max_retries: 3, dispatch_undecodable: true\n"), settings)
    said = @application.run(RbConfig.ruby, "-W0", "-e", '$stderr.reopen($stdout); load "bin/guildhall"', "routes", env: @environment)
    check(!said.include?("config.concurrency"), "connections with the outbox: #{said}")
    @application.write("app/consumers/orders_consumer.rb", CONSUMER)
    @application.write("app/models/current.rb", CURRENT)
    @application.write("config/initializers/errors.rb", TRACKER)
    @application.write("app/jobs/ship_job.rb", JOB)
    @application.write("app/jobs/slow_job.rb", SLOW)
    @application.edit("config/application.rb") { |text| text.sub(/^    config.load_defaults.*\n/) { "#{$~}    config.active_job.queue_adapter = :guildhall\n" } }
    @application.edit("config/guildhall.rb") { |text| text.sub("Guildhall::Kafka.routes do\n", "\\0  active_job_topic #{@jobs.dump}\n") }
    @application.edit("config/guildhall.rb") { |text| text.sub("  # config.concurrency = 5\n", SETTINGS.gsub(/^/, "  ")) }
    @application.append("config/guildhall.rb", "\nGuildhall::Kafka::ActiveJob.current_attributes \"Current\"\n")
  end

  def generated_test
    out = @application.run(RbConfig.ruby, "-W0", "bin/rails", "test", env: @environment)
    check(out.match?(/1 runs, \d+ assertions, 0 failures, 0 errors/), "the generated test: #{out}")
  end

  # Its commands, files and test as they stand there, in an application that has a consumer of that name: it is renamed. The generated consumer
  # is what the guide shows, but for the topic.
  def upserts
    guide = Guide.new(File.join(Guide::ROOT, "docs/bulk_upserts.md"))
    guide.rails_commands.each { |command| @application.rails(*command.map { |word| renamed(word) }) }
    files = guide.application_files
    path = "app/consumers/items_consumer.rb"
    generated = File.read(File.join(@application.root, path))
    check(without_comments(generated) == without_comments(renamed(files.fetch("app/consumers/orders_consumer.rb"))), "generated: #{generated}")
    check(routed == renamed(files.fetch("config/guildhall.rb"))[/^  topic.*^  end\n/m], "the generated route: #{routed}")
    out = @application.run(RbConfig.ruby, "-W0", "bin/rails", "test", env: @environment)
    check(out.match?(/2 runs, \d+ assertions, 0 failures, 0 errors/), "the generated tests: #{out}")
    @application.write("tmp/guide.rb", "#{Guide::PRELUDE}\n#{renamed(files.fetch("test/consumers/orders_consumer_test.rb"))}\nputs \"as the guide says\"")
    out = @application.run(RbConfig.ruby, "-W0", "bin/rails", "runner", "tmp/guide.rb", env: {**@environment, "RAILS_ENV" => "test"})
    check(out.end_with?("as the guide says\n"), out)
    @application.edit("config/guildhall.rb") { |text| text.gsub('"items', "\"items-#{@orders}") }
    create_topic("items-#{@orders}")
    create_topic("items-#{@orders}.dead") if @broker
  end

  # The generated examples, and matchers, in RSpec; it leaves nothing, for the other steps are Minitest's.
  def specs
    @application.rails("generate", "rspec:install")
    consumer = ["guildhall:consumer", "Specified", "--topic", "specified", "--upsert", "Item", "--unique-by", "number"]
    @application.rails("generate", *consumer)
    @application.write("spec/matchers_spec.rb", SPEC)
    out = @application.run(RbConfig.ruby, "-W0", "-e", "load Gem.bin_path('rspec-core', 'rspec')", "--", "spec", env: {**@environment, "RAILS_ENV" => "test"})
    check(out.include?("3 examples, 0 failures"), "examples: #{out}")
    @application.rails("destroy", *consumer)
    FileUtils.rm_rf([".rspec", "spec"].map { |name| File.join(@application.root, name) })
  end

  def renamed(text) = text.gsub("orders", "items").gsub("Orders", "Items").gsub("Order", "Item")
  def without_comments(text) = text.lines.map { |line| line.sub(/ *#.*/, "").rstrip }.reject(&:empty?)
  def routed = File.read(File.join(@application.root, "config/guildhall.rb"))[/^  topic "items" do.*?^  end\n/m]

  def routes
    out = @application.run(RbConfig.ruby, "-W0", "bin/guildhall", "routes", env: @environment)
    check(out.include?("OrdersConsumer") && out.include?("ActiveJob::Consumer"), out)
  end

  def serve
    @pid = @application.spawn(RbConfig.ruby, "bin/guildhall", "server", log: log, env: @environment)
    eventually("assigned") { [@orders, @jobs].all? { |name| assigned(name).size == 2 } }
  end

  # "orders/0-1" and "orders/0" in the log.
  def assigned(name)
    File.read(log).scan(%r{#{name}/(\d+)(?:-(\d+))?}).flat_map { |first, last| [*first.to_i..(last || first).to_i] }.uniq
  end

  def consumed
    runner(<<~'RUBY')
      Guildhall::Kafka.producer.produce_many_sync(Array.new(20) { |number| {topic: ENV["ORDERS"], payload: {number:}.to_json, partition: number % 2} })
    RUBY
    eventually("orders") { query("SELECT count(*) FROM orders") == [[20]] }
    runner(<<~'RUBY', "ITEMS" => "items-#{@orders}")
      items = [["a", {status: "new"}], ["b", {status: "new"}], ["a", {status: "paid"}], ["b", nil], ["c", "{"], ["d", {status: "new", cents: 10**30}]]
      Guildhall::Kafka.producer.produce_many_sync(items.map { |key, payload| {topic: ENV["ITEMS"], key:, payload: payload.is_a?(Hash) ? payload.to_json : payload} })
    RUBY
    eventually("items") { query("SELECT number, status FROM items") == [%w[a paid]] }
    eventually("dead letters") { dead_letters("items-#{@orders}.dead") == %w[c d] }
  end

  # Their keys, sorted.
  def dead_letters(topic)
    found = runner(<<~'RUBY', "DEAD" => topic).lines(chomp: true)
      Guildhall::Kafka.each_message(ENV["DEAD"]) { |letter| puts letter.key }
    RUBY
    found.uniq.sort
  end

  # The first job of each customer fails twice; the one of another customer goes on.
  def jobs
    runner(<<~'RUBY')
      Current.user = "ada"
      ShipJob.perform_later("a", 0)
      ShipJob.perform_later("b", 1)
      ActiveJob.perform_all_later(ShipJob.new("a", 2), ShipJob.new("a", 3))
      ShipJob.set(wait: 3600).perform_later("a", 4) or abort("a delayed job was not taken")
    RUBY
    eventually("shipments") { query("SELECT count(*) FROM shipments") == [[4]] }
    check(query("SELECT number, executions, \"by\" FROM shipments WHERE customer = 'a' ORDER BY id") == [0, 2, 3].map { |number| [number, 1, "ada"] }, "order")
    check(query("SELECT executions, \"by\" FROM shipments WHERE customer = 'b'") == [[3, "ada"]], "retries")
  end

  def reload
    sleep(1.1) # file systems and their seconds
    @application.write("app/consumers/orders_consumer.rb", CONSUMER.sub("topic_name", "'reloaded'"))
    runner('Guildhall::Kafka.producer.produce_sync(topic: ENV["ORDERS"], payload: {number: 99}.to_json, partition: 0)')
    eventually("the new code") { query("SELECT topic FROM orders WHERE number = 99") == [["reloaded"]] }
  end

  def report
    runner('Guildhall::Kafka.producer.produce_sync(topic: ENV["ORDERS"], payload: {number: -1}.to_json, partition: 1)')
    eventually("consumed by the second attempt") { query("SELECT topic FROM orders WHERE number = -1") == [["reloaded"]] }
    items, reports = File.readlines(File.join(@application.root, "tmp/errors"), chomp: true).partition { |line| line.include?(" items") }
    check(items.any? && items.all? { |line| line.start_with?("is out of range guildhall.kafka ") }, "reported of items: #{items}")
    check(reports == ["boom guildhall.kafka consumer.consume shop #{@orders} 1 10"], "reported: #{reports}")
    check(File.exist?(File.join(@application.root, "tmp/notified")), "no notification")
  end

  # As the guide says; Rails 8 does so by itself.
  def lock_at_once
    @application.edit("config/database.yml") { |text| text.sub("adapter: sqlite3", "adapter: sqlite3\n  default_transaction_mode: immediate") }
  end

  # As a model does it: what is rolled back is not sent. A job with a key is there once, until it is done.
  def outbox
    lock_at_once if @version == "7.2"
    runner(<<~'RUBY')
      class Order
        include Guildhall::Outbox
        after_create { produce_in_transaction(topic: ENV["ORDERS"], payload: {number: number + 1}.to_json, partition: 0) if number >= 500 }
      end
      Order.create!(number: 500, topic: "here")
      Order.transaction { Order.create!(number: 600, topic: "here"); raise ActiveRecord::Rollback }
      ShipJob.guildhall_options produce: :outbox, unique_for: 600
      taken = Order.transaction { [ShipJob.perform_later("stored", 7), ShipJob.perform_later("stored", 7)] }
      abort("taken: #{taken}") unless taken.map { |one| one != false } == [true, false]
      Order.transaction { ShipJob.perform_later("stored", 8); raise ActiveRecord::Rollback }
    RUBY
    eventually("sent and consumed") { query("SELECT number FROM orders WHERE number >= 500 ORDER BY number") == [[500], [501]] }
    eventually("performed") { query("SELECT number FROM shipments WHERE customer = 'stored'") == [[7]] }
    eventually("its key is free") { query("SELECT count(*) FROM guildhall_tracked_jobs") == [[0]] }
    out = @application.run(RbConfig.ruby, "-W0", "bin/guildhall", "outbox", "status", env: @environment)
    check(out == "0 messages wait to be sent\n0 messages were refused\n", out)
    eventually("its metrics") { get("/metrics").last.match?(/^guildhall_outbox_sent_total{topic="#{@orders}"} 1\.0$/) }
  end

  def metrics
    eventually("lag") { get("/metrics").last.match?(/^guildhall_lag_messages{[^}]*topic="#{@orders}"[^}]*} 0\.0$/) }
    eventually("23 messages consumed") do
      counted = get("/metrics").last.scan(/^guildhall_consumed_messages_total{[^}]*topic="#{@orders}"[^}]*} (\S+)$/)
      counted.sum { |(value)| Float(value) } == 23
    end
    check(probe("ready") && probe("live"), "not ready")
  end

  # A job that takes a while is noticed, and holds up the stop.
  def drain
    runner("SlowJob.perform_later")
    eventually("the job has begun") { File.exist?(File.join(@application.root, "tmp/slow")) }
    eventually("not live: a job does not end") { get("/live").last.match?(%r{\A#{@jobs}/\d: at work for [\dms]+(\.\d)?( s)? without progress$}) }
    Process.kill(:TERM, @pid)
    eventually("not ready while draining") { !probe("ready") && get("/ready").last == "draining\n" }
    check(probe("live"), "not live while draining")
    FileUtils.rm(File.join(@application.root, "tmp/slow"))
  end

  def probe(what)
    @application.run("bin/guildhall-probe", what, "--port", @port.to_s, bundled: false) { return false }
    true
  end

  def get(path)
    response = Net::HTTP.get_response("127.0.0.1", path, @port)
    [response.code, response.body]
  end

  def stop
    _, status = Process.wait2(@pid)
    @pid = nil
    check(status.exitstatus.zero?, "exit status #{status.inspect}")
    lines = File.readlines(File.join(@application.root, "log/development.log"))
    check(lines.any? { |line| line.include?("[shop]") && line.include?("[#{@orders}/0@") }, "tags: #{lines.last(5)}")
  end

  def production
    runner(<<~'RUBY', "RAILS_ENV" => "production", "DATABASE_URL" => "sqlite3::memory:")
      abort("no eager loading") unless Rails.application.config.eager_load && Object.autoload?(:OrdersConsumer).nil?
      Guildhall::Kafka.application.validate!
    RUBY
  end

  # On Ruby 3.4 the parent's workers have to end before it forks.
  def puma
    @application.write("config/initializers/warm.rb", WARM)
    @application.write("app/models/shout.rb", SHOUT)
    @application.write("app/controllers/shouts_controller.rb", SHOUTS)
    @application.write("config/cluster.rb", PUMA)
    @application.edit("config/routes.rb") { |text| text.sub(/^end/, "  get \"shouts\", to: \"shouts#index\"\n  mount DASHBOARD => \"/guildhall\"\nend") }
    @port = free_port
    @pid = @application.spawn(RbConfig.ruby, "-W0", "-e", "load Gem.bin_path('puma', 'puma')", "--", "-C", "config/cluster.rb", log: log,
      env: {**@environment, "PUMA" => @port.to_s, "RAILS_ENV" => "production", "DATABASE_URL" => "sqlite3::memory:"})
    eventually("two processes answer") { answering.size == 2 }
    8.times { dashboard }
  end

  # Below a path of the routes. The embedded broker does not describe topics.
  def dashboard
    get = ->(path, user = "ada") { Net::HTTP.get_response(URI("http://127.0.0.1:#{@port}#{path}"), {"X-Forwarded-Proto" => "https", "X-User" => user}.compact) }
    check(get.call("/guildhall", nil).code == "403", "the dashboard is open")
    ["/guildhall/schedule", *("/guildhall/topics" unless @broker)].each do |path|
      page = get.call(path)
      check(page.code == "200" && page.body.include?('href="/guildhall/groups"'), "#{path}: #{page.code} #{page.body}")
      asset = get.call(page.body[%r{"(/guildhall/assets/style[^"]+)"}, 1])
      check(asset.code == "200" && asset["content-type"].start_with?("text/css"), "#{asset.code} #{asset.body}")
    end
  end

  # Another one takes its place.
  def restart
    before = answering
    Process.kill(:KILL, before.first)
    eventually("a new process answers") { (answering - before).any? && answering.size == 2 }
  end

  def stop_puma
    Process.kill(:TERM, @pid)
    _, status = Process.wait2(@pid)
    check(status.success? || status.termsig == Signal.list["TERM"], "Puma: #{status.inspect}")
    group = @pid
    @pid = nil # it was waited for
    eventually("no process is left") { gone?(group) }
  end

  # Both processes, and the broker that the first of them starts. Topics of the routes are made there.
  def dev
    @port = free_port
    @environment = {**@environment, "KAFKA_BOOTSTRAP_SERVERS" => nil, "PORT" => (@web = free_port).to_s, "HEALTH_PORT" => @port.to_s}
    FileUtils.rm_f(log)
    @pid = @application.spawn(RbConfig.ruby, "bin/dev", log: log, env: @environment)
    eventually("it says where the broker is") { said?("no broker is set: an embedded one for this folder runs at") }
    eventually("the web server answers") { web_answers? }
    produce_order(7_001)
    eventually("an order is consumed") { query("SELECT count(*) FROM orders WHERE number = 7001") == [[1]] }
  end

  # A consumer that cannot be loaded is named with its line; the next save repairs it, without a restart.
  def mistake
    file = "app/consumers/orders_consumer.rb"
    whole = File.read(File.join(@application.root, file))
    sleep(1.1) # file systems and their seconds
    @application.write(file, whole.sub("def consume\n", "def consume(\n"))
    produce_order(7_002)
    eventually("the mistake is named") { said?(/SyntaxError.*orders_consumer\.rb:\d/) || said?(/orders_consumer\.rb:\d.*syntax error/) }
    sleep(1.1)
    @application.write(file, whole)
    eventually("consumed after the repair") { query("SELECT count(*) FROM orders WHERE number = 7002") == [[1]] }
  end

  # By Ctrl-C, which a terminal sends to all of them.
  def stop_dev
    Process.kill(:INT, -@pid)
    _, status = Process.wait2(@pid)
    group = @pid
    @pid = nil
    check(status.success?, "bin/dev: #{status.inspect}")
    eventually("no process is left") { gone?(group) }
  end

  def said?(text) = File.exist?(log) && File.read(log).match?(text)

  def web_answers?
    Net::HTTP.get_response("127.0.0.1", "/up", @web).code == "200"
  rescue SystemCallError, EOFError
    false
  end

  def produce_order(number)
    runner("Guildhall::Kafka.producer.produce_sync(topic: ENV[\"ORDERS\"], payload: {number: #{number}}.to_json)")
  end

  def gone?(group)
    Process.kill(0, -group)
    false
  rescue Errno::ESRCH
    true
  end

  # @return [Array<Integer>] the processes that answer requests made at once, rightly, by worker Ractors
  def answering
    Array.new(8) { |number| Thread.new { shout("a#{number} b c") } }.filter_map(&:value).uniq.sort
  end

  # @return [Integer, nil] the process; nil: it does not answer, or not any more
  def shout(words)
    uri = URI("http://127.0.0.1:#{@port}/shouts?words=#{words.tr(" ", "+")}")
    response = Net::HTTP.get_response(uri, {"X-Forwarded-Proto" => "https"})
    check(response.code == "200", "#{response.code} #{response.body}")
    answer = JSON.parse(response.body)
    check(answer["shouts"] == words.upcase.split.map { |word| [word, false] }, response.body)
    answer["process"]
  rescue SystemCallError, EOFError
    nil
  end

  def runner(code, env = {})
    @application.run(RbConfig.ruby, "-W0", "bin/rails", "runner", code, env: {**@environment, **env})
  end

  def query(sql)
    require "sqlite3"
    SQLite3::Database.open(File.join(@application.root, "storage/development.sqlite3"), readonly: true) { |database| database.execute(sql) }
  rescue SQLite3::BusyException
    nil
  end

  # The server's threads, for people who wonder why it does nothing.
  def what_it_does
    return unless @pid

    Process.kill(:TTIN, @pid)
    sleep(2)
  rescue Errno::ESRCH
    nil
  end

  def log = File.join(@folder, "server.log")
  def log_lines = File.exist?(log) ? File.readlines(log).last(150) : []

  def kill
    return unless @pid

    Process.kill(:KILL, -@pid)
    Process.wait(@pid)
  end

  def eventually(what)
    limit = now + LIMIT
    until yield
      raise GeneratedApplication::Failed, "not within #{LIMIT} s: #{what}" if now > limit
      raise GeneratedApplication::Failed, "the server has ended: #{what}" if @pid && Process.wait(@pid, Process::WNOHANG)

      sleep(0.05)
    end
  end

  def check(condition, message)
    raise GeneratedApplication::Failed, message unless condition
  end

  def time(name)
    began = now
    yield
    puts format("%-30s %5.1f s", name, now - began)
    $stdout.flush
  end

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
end

Tour.new(ARGV.fetch(0)).run
