# frozen_string_literal: true

# everyday: real
# stress: on both brokers
#
# Proves that a network that fails loses nothing and reorders nothing: every connection reset and new ones refused for a
# while; each request and each answer late; and connections that end in the middle of an answer, again and again.
require_relative "../support/scenario"

Scenario.run do
  partitions = 2
  name = topic(partitions:)
  proxy = Proxy.new(servers)
  consumer = accounting
  configure(servers: proxy.bootstrap_servers, librdkafka: {"reconnect.backoff.max.ms": 500}, commit_interval: 0.2)
  routes { topic(name) { consumer(consumer) } }
  produce_to(name, partitions, 300)
  start
  eventually_complete("consumed through the proxy")

  proxy.cut
  produce_to(name, partitions, 300)
  sleep(1)
  equal(300 * partitions, account.settled, "handled while the network was cut: there is another way to the broker")
  proxy.open
  eventually_complete("consumed after the cut")

  proxy.delay = 0.1
  produce_to(name, partitions, 300)
  eventually_complete("consumed in spite of the delay")
  proxy.delay = 0

  proxy.halve_answers
  produce_to(name, partitions, 300, bytes: 100)
  eventually("halved") { proxy.halved >= 3 }
  proxy.open
  eventually_complete("consumed after halves")
  eventually("committed") { committed(name, partitions:) == [1_200] * partitions }
  stop
  notes << "#{proxy.halved} answers halved" << "#{proxy.connections} connections"
  proxy.close
end
