# frozen_string_literal: true

# Members come and go in the middle of batches, and one is killed (-9): everything is consumed, nothing hangs, the survivors hold no
# results of partitions that they have lost.
require_relative "../support/karafka_application"

PARTITIONS = 4
COUNT = 4_000
MEMBER = ENV.fetch("MEMBER", nil)
NAME = ENV["TOPIC"] || KarafkaApplication.topic("moving", partitions: PARTITIONS)
REPORT = MEMBER && IO.for_fd(3, "w", autoclose: false)

class Collector < Karafka::BaseConsumer
  def consume
    messages.each do |message|
      sleep(0.001)
      id = message.payload["id"]
      REPORT ? REPORT.syswrite("#{id}\n") : KarafkaApplication::RESULTS << id
    end
  end
end

class App < Karafka::App
  KarafkaApplication.setup(self, concurrency: 2, max_messages: 100, group_id: ENV.fetch("GROUP", KarafkaApplication::GROUP))
  Guildhall::Karafka.setup do |config|
    config.concurrency = 2
    config.parallel = true
  end
  routes.draw do
    topic(NAME) do
      consumer Collector
      deserializer Guildhall::Karafka.parallel(Guildhall::JSON)
    end
  end
end

if MEMBER
  Karafka::Server.run
  exit
end

def member(writer)
  environment = {"MEMBER" => "1", "TOPIC" => NAME, "GROUP" => KarafkaApplication::GROUP, "KAFKA_BOOTSTRAP_SERVERS" => KarafkaApplication.servers}
  spawn(environment, RbConfig.ruby, __FILE__, 3 => writer)
end

KarafkaApplication.produce(NAME, Array.new(COUNT) { |id| %({"id":#{id}}) }, partitions: PARTITIONS)
KarafkaApplication.run do
  reader, writer = IO.pipe
  Thread.new { reader.each_line { |line| KarafkaApplication::RESULTS << Integer(line) } }
  seen = KarafkaApplication.results(200).to_h { |id| [id, true] }
  members = Array.new(2) { member(writer) }
  sleep(4)
  Process.kill(:KILL, members.first)
  Process.kill(:TERM, members.last)
  members.each { |pid| Process.wait(pid) }
  KarafkaApplication.results(1).each { |id| seen[id] = true } until seen.size == COUNT
end
