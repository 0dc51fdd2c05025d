# frozen_string_literal: true

# The application of kafka_swarm.rb: SERVERS, TOPIC, GROUP and JOURNAL in the environment. Generated classes stand for the code of a
# middle-sized application with its gems: 70 MB. Payloads become Hashes, so that there is garbage to collect. The journal gets a line for each
# batch, and for each assignment.
require "guildhall/kafka"
require "guildhall/json"

# Code.
module Models
  METHOD = <<~RUBY
    def method_%<number>d(value, option: nil)
      text = value.to_s + option.inspect
      text.size > %<number>d ? [text, value, option].compact.map(&:to_s) : {name: text, kind: :kind_%<number>d}
    end
  RUBY

  2_000.times { |index| const_set(:"Model#{index}", Class.new).class_eval(Array.new(20) { |number| format(METHOD, number:) }.join) }
end

JOURNAL = File.open(ENV.fetch("JOURNAL"), File::WRONLY | File::APPEND)

# Notes how many messages it has read.
class CountingConsumer < Guildhall::Kafka::Consumer
  def consume
    JOURNAL.syswrite("read #{Process.pid} #{messages.count { |message| message.payload["id"] }}\n")
  end
end

Guildhall::Kafka.configure do |config|
  config.kafka = {"bootstrap.servers": ENV.fetch("SERVERS"), "auto.offset.reset": "earliest"}
  config.group_id = ENV.fetch("GROUP")
end
Guildhall::Kafka.instrumentation.subscribe("rebalance.partitions_assigned") do |event|
  JOURNAL.syswrite("assigned #{Process.pid} #{event.payload[:partitions].size}\n")
end
Guildhall::Kafka.routes do
  topic(ENV.fetch("TOPIC")) do
    consumer CountingConsumer
    deserializer Guildhall::JSON
    deserializing parallel: false
  end
end
