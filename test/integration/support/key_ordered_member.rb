# frozen_string_literal: true

# A member of a group whose topic is ordered by key, in a process of its own. Some keys are stuck: one message of each fails until
# the file `release` exists. Every thirteenth message fails twice. Prints the offset of each message that it has handled.
#
# Arguments: servers, topic, group, settings of the membership as JSON, path of the account, keys that are stuck (`k1,k4`), number of the
# message at which they are, path of the file `release`.
require "guildhall/kafka"
require "json"
require_relative "account"

servers, topic, group, membership, account, stuck, number, release = ARGV
$stdout.sync = true
ACCOUNT = Account.open(account)
STUCK = stuck.split(",").to_h { |key| [key, Integer(number)] }.freeze
RELEASE = release

# Keeps the account.
class Telling < Guildhall::Kafka::Consumer
  def consume
    messages.each_marking do |message|
      number = Integer(message.raw_payload)
      raise "stuck" if STUCK[message.key] == number && !File.exist?(RELEASE)
      raise "at first" if number % 13 == 5 && attempt < 3

      sleep(0.001)
      ACCOUNT.handled(message.key, number, Thread.current)
      $stdout.syswrite("#{message.offset}\n")
    end
  end
end

Guildhall::Kafka.configure do |config|
  config.kafka = {"bootstrap.servers": servers, "auto.offset.reset": "earliest", **JSON.parse(membership)}
  config.group_id = group
  config.commit_interval = 0.1
  config.max_messages = 50
  config.concurrency = 4
  config.pause_timeout = 0.02
  config.pause_max_timeout = 0.1
end
Guildhall::Kafka.routes do
  topic(topic) do
    consumer Telling
    ordering :key
  end
end
exit(Guildhall::Kafka.run)
