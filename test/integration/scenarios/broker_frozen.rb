# frozen_string_literal: true

# broker: real
# stress: frozen for longer
#
# Proves that a broker that is frozen (SIGSTOP) for longer than a session lasts, and then continues, loses nothing and
# reorders nothing: the membership is lost, the member rejoins the group, and what is handled twice is counted.
# On a broker of its own.
require_relative "../support/scenario"

Scenario.run do
  broker = own_broker or next

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
    Process.kill(:STOP, broker.pid)
    sleep(long? ? 20 : 8)
  ensure
    Process.kill(:CONT, broker.pid)
  end
  eventually_complete
  eventually("committed") { committed(name, partitions:) == [1_500] * partitions } # by a member: while it is out of the group it cannot
  stop(timeout: 40)
  notes << "#{account.lives} assignments"
  replaced = Array.new(errors.size) { errors.pop[:error].message }.count(Guildhall::Kafka::Group::LostMembership::NO_BROKER)
  notes << "the client was replaced" if replaced.positive?
end
