# frozen_string_literal: true

# A process that consumes with the consumer and the route of docs/bulk_upserts.md, and kills itself (-9) at a step if it is told to. Usage:
# member.rb DATABASE SERVERS TOPIC [STEP COUNT]; DATABASE: JSON of Active Record's settings.
require_relative "../../support/default_signals"
DefaultSignals.restore
require "active_record"
require "json"
require "logger"
require "guildhall/kafka"
require_relative "../../support/guide"

database = JSON.parse(ARGV.fetch(0), symbolize_names: true)
POSTGRESQL = database.fetch(:adapter) == "postgresql"
# PostgreSQL: the member finds out about a deadlock, and not the other side, which waits for longer.
variables = POSTGRESQL ? {deadlock_timeout: "2s"} : {}
variables.merge!(JSON.parse(ENV.fetch("VARIABLES"), symbolize_names: true))
ActiveRecord::Base.establish_connection(**database, pool: 5, variables:)
TOPIC, STEP, COUNT = ARGV.values_at(2, 3, 4)
REACHED = Hash.new(0)

def reach(name) = name == STEP && (REACHED[name] += 1) == Integer(COUNT) && Process.kill(:KILL, Process.pid) && sleep

# What the guide takes for granted.
class Order < ActiveRecord::Base
  def self.upsert_all(...) = super.tap { reach("written") }
end

class ApplicationConsumer < Guildhall::Kafka::Consumer; end

BLOCKS = Guide.new(File.join(Guide::ROOT, "docs/bulk_upserts.md")).run.to_h { |block| [block.code[/\A# (\S+)/, 1], block.code] }
code = BLOCKS.fetch("app/consumers/orders_consumer.rb")
# As the guide says of MySQL and MariaDB.
code = code.sub(", unique_by: :number", "") || abort("the guide's consumer has changed") unless POSTGRESQL
eval(code) # rubocop:disable Security/Eval
OrdersConsumer.prepend(Module.new { def consume = super.tap { reach("committed") } })

Guildhall::Kafka.configure do |config|
  config.kafka = {"bootstrap.servers": ARGV.fetch(1), "session.timeout.ms": 6_000, "heartbeat.interval.ms": 500}
  config.group_protocol = :classic
  config.group_id = "group-#{TOPIC}"
  config.concurrency = 3
  config.pause_timeout = 0.05
  config.shutdown_timeout = 30
  config.logger = Logger.new($stderr, level: Logger::INFO)
end
eval(BLOCKS.fetch("config/guildhall.rb").gsub('"orders', "\"#{TOPIC}")) # rubocop:disable Security/Eval
exit(Guildhall::Kafka.run)
