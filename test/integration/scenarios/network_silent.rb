# frozen_string_literal: true

# everyday: embedded
# stress: on the real broker, whose sessions last longer
#
# Proves that a network that swallows everything for longer than a session lasts loses nothing and reorders nothing, be
# it in both directions, or from the broker to us only: the group has moved on meanwhile, or believes that we are there.
require_relative "../support/scenario"

Scenario.run do
  partitions = 2
  session = embedded ? 2 : 6
  name = topic(partitions:)
  proxy = Proxy.new(servers)
  consumer = accounting(pause: 0.002)
  configure(servers: proxy.bootstrap_servers, commit_interval: 0.2, max_messages: 50,
    librdkafka: {"reconnect.backoff.max.ms": 500, "session.timeout.ms": session * 1000, "socket.timeout.ms": session * 1000})
  routes { topic(name) { consumer(consumer) } }
  start
  %i[silence silence_answers].each do |trouble|
    produce_to(name, partitions, 500)
    before = account.settled
    eventually("begun") { account.settled > before + 100 }
    proxy.public_send(trouble)
    sleep(session * 1.5)
    produce_to(name, partitions, 100)
    proxy.open
    eventually_complete("consumed after #{trouble}")
  end
  eventually("committed") { committed(name, partitions:) == [1_200] * partitions }
  stop(timeout: 40)
  notes << "#{account.lives} assignments"
  proxy.close
end
