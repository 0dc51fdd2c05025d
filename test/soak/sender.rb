# frozen_string_literal: true

# A producer of a soak: it sends numbered messages at a steady rate, and notes what brokers have confirmed.
require_relative "role"

role = Soaking::Role
role.end_with_parent
# More requests at a time would store messages twice now and then when a leader fails (librdkafka's issue 4953): a transaction would copy both.
role.configure { |config| config.producer = {"max.in.flight.requests.per.connection": 1} }
producer = Guildhall::Kafka.producer
stopping = false
Signal.trap("TERM") { stopping = true }

sent = Thread::Queue.new
noting = Thread.new do
  while (first, deliveries = sent.pop)
    outcomes = deliveries.each_with_index.group_by do |delivery, _|
      delivery.wait
      "c"
    rescue Guildhall::Kafka::ProduceError, Guildhall::TimeoutError
      "f"
    end
    outcomes.each { |kind, some| role.note(kind, role::NAME, *some.map { |_, index| first + index }) }
  end
end

next_number = 0
each_seconds = 0.1
count = [role::GIVEN.fetch(:rate) * each_seconds, 1].max.round
clock = -> { Process.clock_gettime(Process::CLOCK_MONOTONIC) }
until stopping
  began = clock.call
  messages = Array.new(count) { |index| Soaking::Plan.message(role::TOPICS, role::NAME, next_number + index) }
  role.note("s", role::NAME, next_number, next_number + count - 1)
  deliveries = begin
    producer.produce_many_async(messages)
  rescue Guildhall::Kafka::ProduceError => error # the queue is full, for example
    warn("#{error.class}: #{error.message}")
    error.dispatched
  end
  sent << [next_number, deliveries]
  next_number += count
  sleep([began + (count / role::GIVEN.fetch(:rate).to_f) - clock.call, 0].max)
end
producer.close
sent << nil
noting.join
exit!(0)
