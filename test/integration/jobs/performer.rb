# frozen_string_literal: true

# A process that relays the outbox and performs jobs, as `guildhall server` does, and kills itself (-9) at a step if it is told to. Usage:
# performer.rb SERVERS [STEP COUNT], with DATABASE, QUEUE and LINES in the environment.
require_relative "../../support/default_signals"
DefaultSignals.restore
require "active_record"
require "active_job"
require "active_support/all"
require "json"
require "guildhall/kafka"
require "guildhall/kafka/active_job"

ActiveRecord::Base.establish_connection(JSON.parse(ENV.fetch("DATABASE"), symbolize_names: true))
require_relative "classes"
STEP, COUNT = ARGV.values_at(1, 2)
REACHED = Hash.new(0)
LOCK = Mutex.new

# The steps of a job's end.
module Steps
  def self.reach(name) = name == STEP && LOCK.synchronize { REACHED[name] += 1 } == Integer(COUNT) && Process.kill(:KILL, Process.pid) && sleep

  # Of its row.
  module TrackedJob
    def finish(*)
      Steps.reach("performed")
      super.tap { Steps.reach("finished") }
    end
  end

  # Of its batch.
  module Batch
    def tally(id, change)
      Steps.reach("deleted") if change.negative?
      super.tap { Steps.reach("counted") if change.negative? }
    end
  end

  # Of the outbox, whose leases are short.
  module Leases
    def initialize(owner, seconds: 3) = super
  end
end
TrackedJob.singleton_class.prepend(Steps::TrackedJob)
Batch.singleton_class.prepend(Steps::Batch)
Guildhall::Outbox::Shard::Leases.prepend(Steps::Leases)

Guildhall::Kafka.configure do |config|
  config.kafka = {"bootstrap.servers": ARGV.fetch(0), "session.timeout.ms": 6_000}
  config.outbox = true
  config.concurrency = 3
  config.shutdown_timeout = 30
  config.logger = Logger.new($stderr, level: Logger::INFO)
end
draw_routes
exit(Guildhall::Kafka.run)
