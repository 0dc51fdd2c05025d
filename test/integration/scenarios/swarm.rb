# frozen_string_literal: true

# stress: 20 kills
#
# Proves that a swarm consumes everything while its processes are killed (-9): others take their place, nothing is lost or reordered,
# and what is handled twice was handled since the last commit. And that when the parent is killed its processes stop in order, so that
# the next swarm repeats nothing; that SIGTERM to the parent stops all in order, with status 0; and that no process is left.
require_relative "../support/scenario"

SWARM = <<~'RUBY'
  require "guildhall/kafka"
  require_relative "test/integration/support/member"
  servers, topic, group, account, membership = ARGV
  consumer = Member.consumer(Account.open(account), 0.001)
  Guildhall::Kafka.configure do |config|
    config.kafka = {"bootstrap.servers": servers, "auto.offset.reset": "earliest", **JSON.parse(membership)}
    config.group_id = group
    config.commit_interval = 0.1
    config.pause_timeout = 0.2
    config.max_messages = 20
    config.shutdown_timeout = 20
  end
  Guildhall::Kafka.routes { topic(topic) { consumer(consumer) } }
  Member.send(:tell_errors)
  $stdout.sync = true
  Guildhall::Kafka.instrumentation.subscribe("swarm.process_started") { |event| puts "pid #{event.payload[:pid]}" }
  exit(Guildhall::Kafka.swarm(processes: 3))
RUBY

Scenario.run do
  partitions = 6
  kills = long? ? 20 : 3
  name = topic(partitions:)
  pids = []
  lock = Mutex.new
  swarm = lambda do
    arguments = [servers, name, group, account.path, JSON.generate(Scenario.membership(session: embedded ? 2_000 : 6_000))]
    IO.popen([RbConfig.ruby, "-e", SWARM, *arguments], chdir: File.expand_path("../../..", __dir__)).tap do |io|
      Thread.new { io.each_line { |line| lock.synchronize { pids << line[/\Apid (\d+)/, 1]&.to_i } } }
    end
  end
  running = -> { lock.synchronize { pids.compact }.select { |pid| File.read("/proc/#{pid}/stat")[/\) (\S)/, 1] != "Z" rescue false } } # rubocop:disable Style/RescueModifier
  produce_more = -> { produce_to(name, partitions, 300) }

  first = swarm.call
  kills.times do
    eventually("three processes") { running.call.size == 3 }
    so_far = account.settled
    produce_more.call
    eventually("they consume") { account.settled > so_far + rand(50..300) }
    Process.kill(:KILL, running.call.sample)
  end
  eventually_complete("all consumed in spite of #{kills} kills")
  twice = account.consumed - account.settled

  so_far = account.settled
  produce_more.call
  eventually("they consume") { account.settled > so_far + 100 }
  Process.kill(:KILL, first.pid)
  Process.wait(first.pid)
  eventually("its processes stop by themselves") { running.call.empty? }
  before = account.consumed - account.settled

  second = swarm.call
  produce_more.call # the first one's processes may have handled the rest
  eventually_complete("the next swarm goes on")
  # The embedded broker refuses commits while a group rebalances, as it does when its members leave one after the other.
  equal(before, account.consumed - account.settled, "handled twice") unless embedded
  Process.kill(:TERM, second.pid)
  Process.wait(second.pid)
  equal(0, $?.exitstatus, "exit status")
  eventually("no process is left") { running.call.empty? }
  equal(Array.new(partitions) { account.settled / partitions }, committed(name, partitions:), "committed") unless embedded
  notes << "#{kills} kills, after which #{twice} were handled twice"
ensure
  [first, second].compact.each do |io|
    Process.kill(:KILL, io.pid)
  rescue Errno::ESRCH
    nil
  end
end
