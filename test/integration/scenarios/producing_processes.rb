# frozen_string_literal: true

# broker: real
# stress: 20 kills
#
# Proves what is there of a process that produces, however it ends: what was confirmed before a kill (-9) is there, and nothing is there
# twice; a TERM delivers all that was produced, what is kept in the buffer as well; a child that was forked amid it sends its own messages
# and none of its parent's.
require_relative "../support/scenario"

PRODUCING = <<~'RUBY'
  require "guildhall/kafka"
  SERVERS, TOPIC, LIFE, HOW = ARGV
  $stdout.sync = true
  Guildhall::Kafka.configure do |config|
    config.kafka = {"bootstrap.servers": SERVERS}
    config.producer = {"linger.ms": HOW == "kill" ? 5 : 1_000}
    config.logger = nil
  end
  PRODUCER = Guildhall::Kafka.producer
  # What is said is written before it counts.
  def say(what, payload) = $stdout.syswrite("#{what} #{payload}\n")
  def message(thread, number) = {topic: TOPIC, payload: "#{LIFE}-#{thread}-#{number}", key: number.to_s}

  if HOW == "fork"
    100.times { |number| PRODUCER.produce_async(message("parent", number)).tap { say("produced", "#{LIFE}-parent-#{number}") } }
    20.times { |number| PRODUCER.buffer(message("kept", number)).tap { say("produced", "#{LIFE}-kept-#{number}") } }
    busy = Thread.new { 200.times { |number| PRODUCER.produce_async(message("busy", number)).tap { say("produced", "#{LIFE}-busy-#{number}") } && sleep(0.001) } }
    children = 3.times.map do |child|
      sleep(0.03)
      fork do
        50.times { |number| PRODUCER.produce_async(message("child#{child}", number)).tap { say("produced", "#{LIFE}-child#{child}-#{number}") } }
      end
    end
    busy.join
    children.each { |child| Process.wait2(child).last.success? or abort("a child has failed") }
    exit
  end
  threads = 4.times.map do |thread|
    Thread.new do
      (0..).each do |number|
        message = message(thread, number)
        if thread == 3
          PRODUCER.buffer(message)
          say("produced", message[:payload])
          PRODUCER.flush_async if number % 10 == 9
          sleep(0.001)
          next
        end
        deliveries = thread.zero? ? [PRODUCER.produce_sync(message)] : PRODUCER.produce_many_async([message])
        say("produced", message[:payload]) unless thread.zero?
        deliveries.each(&:wait) if HOW == "kill" && thread == 1
        say("confirmed", message[:payload]) if thread.zero? || (HOW == "kill" && thread < 2)
        sleep(0.001)
      rescue Guildhall::Kafka::ClosedProducerError
        break # it was not taken, and not said to be
      end
    end
  end
  threads.each(&:join)
RUBY

Scenario.run do
  name = topic(partitions: 3)
  said = Hash.new { |hash, what| hash[what] = [] }
  live = lambda do |life, how, &block|
    output, writer = IO.pipe
    pid = spawn(RbConfig.ruby, "-e", PRODUCING, servers, name, life, how, out: writer)
    writer.close
    lines = []
    reader = Thread.new { output.each_line { |line| lines << line if line.end_with?("\n") } }
    block&.call(pid, lines)
    status = Process.wait2(pid).last
    pid = nil
    reader.join
    lines.each { |line| line.split.then { |what, payload| said["#{how} #{what}"] << payload } }
    status
  ensure
    if pid
      Process.kill(:KILL, pid)
      Process.wait(pid)
    end
  end

  kills = long? ? 20 : 2
  kills.times do |number|
    status = live.call("killed#{number}", "kill") do |pid, lines|
      eventually("it produces") { lines.count { |line| line.start_with?("confirmed") } > 100 }
      sleep(rand * 0.3)
      Process.kill(:KILL, pid)
    end
    check(status.signaled?, "it was not killed")
  end
  live.call("ended", "term") do |pid, lines|
    eventually("it produces") { lines.count { |line| line.start_with?("confirmed") } > 100 }
    Process.kill(:TERM, pid)
  end
  check(live.call("forked", "fork").success?, "the one that forks has failed")

  configure
  there = []
  Guildhall::Kafka.each_message(name) { |message| there << message.raw_payload }
  equal([], there.tally.select { |_, count| count > 1 }.keys, "what is there twice")
  ["kill confirmed", "term confirmed", "term produced", "fork produced"].each do |what|
    check(said[what].any?, "nothing was #{what}")
    equal([], said[what] - there, "#{what}, and not there")
    notes << "#{said[what].size} #{what}"
  end
  equal(470, there.count { |payload| payload.start_with?("forked-") }, "messages of the one that forks")
  notes << "#{kills} kills" << "each message once"
end
