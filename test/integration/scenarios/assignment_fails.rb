# frozen_string_literal: true

# everyday: embedded
# stress: on both brokers
#
# Proves that an assignment that cannot be taken on as a whole (here because something raises at its second partition, once)
# leaves no partition unread: the error is reported, the client rejoins the group, and everything is handled once.
require_relative "../support/scenario"

Scenario.run do
  partitions = 3
  name = topic(partitions:)
  produce_to(name, partitions, 20)
  consumer = accounting
  configure
  routes { topic(name) { consumer(consumer) } }
  asked = 0
  failing = Module.new do
    define_method(:decoding) do |topic|
      raise "not now" if (asked += 1) == 2

      super(topic)
    end
  end
  Guildhall::Kafka::Runtime.prepend(failing)
  start
  eventually_complete
  stop
  equal(partitions * 20, account.consumed, "handled once")
  equal([20] * partitions, committed(name, partitions:), "committed")
  equal([["listener", "not now"]], drain(errors).map { |error| [error[:type], error[:error].message] }, "errors")
end
