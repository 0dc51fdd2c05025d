# frozen_string_literal: true

# Proves that attempts belong to one message and start again from 1 once it has been marked as consumed, so that many messages
# that fail a little never reach the dead letter queue; `independent: false` changes nothing about that.
require_relative "../support/scenario"

Scenario.run do
  [true, false].each do |independent|
    name = topic
    produce(name, (0...20).map { |i| {payload: i.to_s, partition: 0} })
    seen = []
    tries = Hash.new(0)
    consumer = Class.new(Guildhall::Kafka::Consumer) do
      const_set(:SEEN, seen)
      const_set(:TRIES, tries)
      def consume
        messages.each do |message|
          failing = message.offset.even? && message.offset < 5 && (self.class::TRIES[message.offset] += 1) < 2
          raise "a little" if failing

          self.class::SEEN << message.offset
          mark_as_consumed(message)
        end
      end
    end
    drawing = proc do
      topic(name) do
        consumer consumer
        dead_letter_queue topic: false, max_retries: 2, independent:
      end
    end
    Guildhall::Kafka.reset
    configure(pause_timeout: 0.02, group_id: "#{group}-#{independent}")
    routes(&drawing)
    start
    eventually("all done") { seen.last == 19 }
    stop
    equal((0...20).to_a, seen, "consumed with independent: #{independent}")
  end
end
