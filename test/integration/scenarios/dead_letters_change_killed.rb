# frozen_string_literal: true

# broker: real (the embedded one forgets offsets that are sent to a transaction)
#
# Proves that dead letters can be looked at while the change of a process that was killed (-9) is still open at the brokers, which takes half
# a minute: what is shown is what was there before it. And that the next change ends it, and counts.
require_relative "../support/scenario"

Scenario.run do
  dead = topic(name: "dead")
  configure
  letter = ->(number) { {payload: number.to_s, partition: 0, headers: {"source_topic" => dead, "source_partition" => "0", "source_offset" => number.to_s}} }
  produce(dead, Array.new(4, &letter))
  application = Guildhall::Kafka.application
  change = lambda do |offset, &within|
    application.dead_letters(dead) do |letters|
      letters.changes.run do |changes|
        marks = changes.marks(0)
        marks.discarded(offset...(offset + 1))
        changes.keep(0, marks)
        changes.note("discarded up to #{offset}")
        within&.call
      end
    end
  end
  seen = lambda do
    application.dead_letters(dead) do |letters|
      letters.ranges
      marks = letters.marks([0]).fetch(0)
      [Array.new(4) { |offset| marks.of(offset) }, letters.noted]
    end
  end
  change.call(0)
  before = [[:discarded, nil, nil, nil], "discarded up to 0"]
  eventually("the first change") { seen.call == before }

  pid = fork do
    Guildhall::Kafka.reset
    configure
    application = Guildhall::Kafka.application
    change.call(1) { Process.kill(:KILL, Process.pid) && sleep }
  end
  Process.wait(pid)
  seconds, found = timed(&seen)
  equal(before, found, "while the change of a killed process is open")
  check(seconds < 20, "looking took #{seconds.round} s: the change was waited for")
  change.call(2)
  eventually("the next change") { seen.call == [[:discarded, nil, :discarded, nil], "discarded up to 2"] }
  notes << "looked within #{seconds.round(1)} s"
end
