# frozen_string_literal: true

# Proves that `pause` rests one partition while others go on, that it ends by itself or by `resume`, that `seek` goes
# to the given place (an offset, :earliest, :latest, a Time), and that nothing is lost or reordered by any of them.
require_relative "../support/scenario"

Scenario.run do
  name = topic(partitions: 2)
  produce(name, (0...200).map { |i| {payload: i.to_s, partition: i % 2} })
  seen = Array.new(2) { [] }
  steps = Thread::Queue.new
  consumer = Class.new(Guildhall::Kafka::Consumer) do
    const_set(:SEEN, seen)
    const_set(:STEPS, steps)
    def consume
      messages.each { |message| self.class::SEEN[partition] << message.offset }
      return if partition == 1 || self.class::STEPS.empty?

      step, *arguments = self.class::STEPS.pop
      public_send(step, *arguments)
    end
  end
  configure(max_messages: 10)
  routes { topic(name) { consumer(consumer) } }
  # The embedded broker cannot look offsets up by time.
  back = embedded ? :earliest : Time.now - 3600
  steps << [:pause, nil, 0.3] << [:pause, 15] << %i[seek earliest] << [:seek, back] << [:seek, 50]
  start
  eventually("the other partition goes on") { seen[1].size == 100 }
  partition = Guildhall::Kafka.application.partitions.find { |one| one.number.zero? }
  eventually("the second pause") { steps.size == 3 && partition.paused? }
  sleep(0.3)
  equal((0...20).to_a, seen[0], "paused")
  partition.resume
  eventually("all steps") { steps.empty? && seen[0].last == 99 }
  stop
  # pause after 0…9, pause at 15 after 10…19, 15…24 then earliest, 0…9 then the start again, 0…9 then 50
  equal((0..19).to_a + (15..24).to_a + (0..9).to_a + (0..9).to_a + (50..99).to_a, seen[0], "order of offsets")
  equal((0...100).to_a, seen[1], "the other partition")
  equal([100, 100], committed(name, partitions: 2), "committed")
end
