# frozen_string_literal: true

# broker: real
# alone: it stops the broker
# stress: frozen for longer
#
# Proves that a broker that is frozen (SIGSTOP) for longer than a session lasts, and then continues, loses nothing and
# reorders nothing: the membership is lost, the member rejoins the group, and what is handled twice is counted.
# KAFKA_BROKER_PID names a file with the broker's process id; without it there is nothing to prove.
require_relative "../support/scenario"

Scenario.run do
  file = ENV.fetch("KAFKA_BROKER_PID", "")
  next notes << "skipped: no KAFKA_BROKER_PID" unless File.exist?(file)

  pid = Integer(File.read(file))
  partitions = 3
  name = topic(partitions:)
  consumer = accounting(pause: 0.004)
  configure(max_messages: 50, commit_interval: 0.5,
    librdkafka: {"session.timeout.ms": 6_000, "socket.timeout.ms": 6_000, "reconnect.backoff.max.ms": 500})
  routes { topic(name) { consumer(consumer) } }
  produce_to(name, partitions, 1_500)
  start
  eventually("begun") { account.settled > 200 }
  begin
    Process.kill(:STOP, pid)
    sleep(long? ? 20 : 8)
  ensure
    Process.kill(:CONT, pid)
  end
  eventually_complete
  eventually("committed") { committed(name, partitions:) == [1_500] * partitions } # by a member: while it is out of the group it cannot
  stop(timeout: 40)
  notes << "#{account.lives} assignments"
  replaced = Array.new(errors.size) { errors.pop[:error].message }.count(Guildhall::Kafka::Group::LostMembership::NO_BROKER)
  notes << "the client was replaced" if replaced.positive?
end
