# frozen_string_literal: true

# A process that relays an outbox, as `guildhall server` does, and kills itself (-9) at a step if it is told to. Usage:
# relay.rb DATABASE SERVERS [STEP COUNT]; DATABASE: JSON of Active Record's settings.
require_relative "../../support/default_signals"
DefaultSignals.restore
require "active_record"
require "json"
require "guildhall/kafka"

ActiveRecord::Base.establish_connection(JSON.parse(ARGV.fetch(0)))
STEP, COUNT = ARGV.values_at(2, 3)
REACHED = Hash.new(0)

# The steps of a turn. Leases are short, so that others take them over while this process is at work.
module Steps
  def self.reach(name) = name == STEP && (REACHED[name] += 1) == Integer(COUNT) && Process.kill(:KILL, Process.pid) && sleep

  # Of the leases.
  module Leases
    def initialize(owner, seconds: 3) = super
    def take = super.tap { |shards| Steps.reach("taken") if shards.any? }
    def renew = super.tap { Steps.reach("renewed") }
    def release = super.tap { Steps.reach("released") }
  end

  # Of the relay.
  module Relay
    def deliver(rows)
      Steps.reach("read") if rows.any?
      super
    end

    def produce(messages)
      super.tap { Steps.reach("handed over") if messages.any? }
    end

    def delete(rows)
      Steps.reach("arrived")
      super
      Steps.reach("deleted")
    end
  end
end
Guildhall::Outbox::Shard::Leases.prepend(Steps::Leases)
Guildhall::Outbox::Relay.prepend(Steps::Relay)

Guildhall::Kafka.configure do |config|
  config.kafka = {"bootstrap.servers": ARGV.fetch(1)}
  config.outbox = true
  config.shutdown_timeout = 30
  config.logger = Logger.new($stderr, level: Logger::INFO)
end
exit(Guildhall::Kafka.run)
