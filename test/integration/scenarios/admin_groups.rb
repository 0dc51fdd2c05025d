# frozen_string_literal: true

# broker: real
#
# Proves what commands and Ruby do to consumer groups, of the classic and of the consumer protocol: nothing while members live, who are named,
# also where one joins at the last moment; each kind of reset sets what it has promised, and exactly the promised messages come
# again; keys that wait are printed; a copy goes on where the other group was, with what it has done behind a key that waits; renaming and deleting.
require_relative "../support/scenario"
require "json"

Scenario.run do
  settings = {"bootstrap.servers": servers}
  brokers = ["-b", servers]
  administer = ->(&block) { Guildhall::Kafka::Admin.open(settings, &block) }
  seen = Thread::Queue.new
  collect = Class.new(Guildhall::Kafka::Consumer) do
    define_method(:consume) { messages.each { |message| seen << [message.partition, message.offset] } }
  end
  refused = lambda do |what, &block|
    block.call
    flunk("#{what}: not refused")
  rescue Guildhall::Kafka::LiveGroupError => error
    error
  end

  %w[classic consumer].each do |protocol|
    name = topic(partitions: 2)
    produce(name, Array.new(40) { |i| {payload: i.to_s, partition: i % 2} })
    own = "#{group}-#{protocol}"
    run = lambda do |&block|
      Guildhall::Kafka.reset
      configure(librdkafka: {"group.protocol": protocol}, group_id: own, client_id: "shop-#{protocol}", commit_interval: 0.1)
      routes { topic(name) { consumer(collect) } }
      start
      block.call
      stop
    end
    at = -> { committed(name, partitions: 2, group: own) }

    run.call do
      eventually("all consumed") { seen.size == 40 && at.call == [20, 20] }
      drain(seen)
      administer.call do |admin|
        found = admin.groups[own]
        equal([:stable, protocol.to_sym, 1], [found.state, found.protocol, found.members.size], "the group")
        member = found.members.first
        equal(["shop-#{protocol}", "127.0.0.1", {name => [0, 1]}], [member.client_id, member.host, member.partitions], "the member")
        equal([own], admin.groups.list([own]).map(&:name), "listed")
        check(admin.groups.names.include?(own), "among all")
        plan = admin.offsets.plan(own, to: :earliest)
        equal([0, 40], [plan.skipped, plan.again], "a plan may be made")
        error = refused.call("a reset") { plan.apply }
        check(error.message.include?("group #{own} has 1 member (shop-#{protocol} at 127.0.0.1) and cannot be given other offsets"), error.message)
        refused.call("a deletion") { admin.groups.delete(own) }
        refused.call("a deletion of offsets") { admin.groups.delete_offsets(own, name) }
        refused.call("a renaming") { admin.groups.rename(own, "#{own}-new") }
        admin.groups.define_singleton_method(:empty!) { |*| nil } # it joins after the look
        error = refused.call("a reset at the last moment") { plan.apply }
        equal(1, error.members.size, "who has joined")
      end
      equal([20, 20], at.call, "nothing was changed")
      harmful = [["offsets", "reset", own, "--to", "earliest"], ["groups", "delete", own]]
      harmful.product(%w[--yes --dry-run]).map(&:flatten).each do |arguments|
        _, err, status = guildhall(*arguments, *brokers)
        equal([1, true], [status.exitstatus, err.include?("1 member (shop-#{protocol} at 127.0.0.1)")], err)
      end
      out, err, = guildhall("groups", "show", own, *brokers)
      check(out.include?("shop-#{protocol}") && out.match?(/^protocol: +#{protocol}/) && out.include?("#{name}: 0-1"), "#{out}#{err}")
      out, err, = guildhall("groups", "members", own, "--json", *brokers)
      equal({name => [0, 1]}, JSON.parse(out)["partitions"], err)
    end

    # @return the figures that were promised, after which exactly these come
    reset = lambda do |*to, places, again:, skipped: 0|
      out, err, status = guildhall("offsets", "reset", own, "--to", *to, "--yes", "--json", *brokers)
      check(status.success?, err)
      rows = out.lines.map { |line| JSON.parse(line) }
      equal([places, again, skipped], [rows.map { |row| row["to"] }, rows.sum { |row| row["again"] }, rows.sum { |row| row["skipped"] }], to.join(" "))
      equal(places, at.call, "set: #{to.join(" ")}")
    end
    reset.call("earliest", [0, 0], again: 40)
    run.call { eventually("all again") { at.call == [20, 20] } }
    equal([0, 1].product([*0...20]), drain(seen).sort, "from the beginning")
    reset.call("-5", [15, 15], again: 10)
    run.call { eventually("five of each again") { at.call == [20, 20] } }
    equal([0, 1].product([*15...20]), drain(seen).sort, "five back")
    _, err, status = guildhall("offsets", "reset", own, "--to", "17", "-p", "1", "--yes", *brokers)
    equal([0, [20, 17]], [status.exitstatus, at.call], err)
    run.call { eventually("three again") { at.call == [20, 20] } }
    equal([*17...20].map { |offset| [1, offset] }, drain(seen).sort, "one partition")

    sleep(0.05)
    middle = Time.now
    sleep(0.05)
    produce(name, Array.new(20) { |i| {payload: i.to_s, partition: i % 2} })
    reset.call("latest", [30, 30], again: 0, skipped: 20)
    reset.call("2000-01-01", [0, 0], again: 60)
    reset.call("@#{format("%.3f", middle.to_f)}", [20, 20], again: 0, skipped: 40)
    reset.call("+1", [21, 21], again: 0, skipped: 2)
    reset.call("1000", [30, 30], again: 0, skipped: 18)
    reset.call("1h", [0, 0], again: 60)
    reset.call("latest", [30, 30], again: 0, skipped: 60)
    run.call { sleep(0.5) }
    equal([], drain(seen), "nothing after latest")

    administer.call do |admin|
      stale = admin.offsets.plan(own, to: 3)
      admin.offsets.plan(own, to: 4).apply
      begin
        stale.apply
        flunk("a plan that is out of date was applied")
      rescue Guildhall::Kafka::OffsetsError => error
        check(error.message.include?("nothing was changed; make a plan anew"), error.message)
      end
      equal([4, 4], at.call, "as the other one has set them")
    end
    _, err, status = guildhall("groups", "copy", own, "#{own}-b", *brokers)
    equal([0, [4, 4]], [status.exitstatus, committed(name, partitions: 2, group: "#{own}-b")], err)
    _, err, status = guildhall("groups", "rename", own, "#{own}-b", "--yes", *brokers)
    equal([2, true], [status.exitstatus, err.include?("has committed offsets already")], err)
    _, err, status = guildhall("groups", "rename", own, "#{own}-c", "--yes", *brokers)
    equal([0, [4, 4]], [status.exitstatus, committed(name, partitions: 2, group: "#{own}-c")], err)
    _, err, status = guildhall("groups", "show", own, *brokers)
    equal([2, true], [status.exitstatus, err.start_with?("guildhall: there is no consumer group #{own}")], err)
    out, err, status = guildhall("groups", "delete", "#{own}-b", "#{own}-c", "--yes", *brokers)
    equal([0, "#{own}-b was deleted\n#{own}-c was deleted\n"], [status.exitstatus, out], err)
  end

  # A key that waits.
  name = topic
  produce(name, (0...50).map { |i| {payload: i.to_s, key: "k#{i % 5}"} })
  stuck = Thread::Queue.new << true
  handled = Thread::Queue.new
  keyed = Class.new(Guildhall::Kafka::Consumer) do
    define_method(:consume) do
      messages.each_marking do |message|
        raise "stuck" if message.key == "k2" && message.offset >= 12 && stuck.size.positive?

        handled << message.offset
      end
    end
  end
  run = lambda do |own, &block|
    Guildhall::Kafka.reset
    configure(group_id: own, commit_interval: 0.1, pause_timeout: 0.02, pause_max_timeout: 0.1)
    routes do
      topic(name) do
        consumer(keyed)
        ordering :key
      end
    end
    start
    block.call
    stop
  end
  own = "#{group}-keyed"
  waiting = [*0...50].select { |offset| offset % 5 == 2 && offset >= 12 }
  run.call(own) { eventually("all but one key") { handled.size == 50 - waiting.size && Guildhall::Kafka.application.parked_keys.sum(&:messages) == waiting.size } }
  drain(handled)
  equal([12], committed(name, group: own), "the key waits")
  administer.call do |admin|
    row = admin.offsets.of(own).first
    equal([12, 0, 50, nil, waiting], [row.committed, row.begin_offset, row.end_offset, row.metadata, row.passed_over.flat_map(&:to_a)], "what is done")
    equal([["k2", waiting.size]], admin.offsets.parked_keys(own).map { |key| [key.key, key.messages] }, "parked")
    equal([[0, 30], ["k2"]], admin.offsets.plan(own, to: 12).then { |plan| [[plan.skipped, plan.again], plan.parked_again.map(&:key)] }, "the same offset")
  end
  _, err, status = guildhall("offsets", "reset", own, "--to", "latest", "--dry-run", *brokers)
  equal([0, [12]], [status.exitstatus, committed(name, group: own)], err)
  check(err.include?("8 messages are skipped, 0 come again"), err)
  check(err.include?("8 messages of 1 key wait and would never be handled: k2 (#{name}/0@12, 8)"), err)
  stuck.clear
  _, err, status = guildhall("groups", "copy", own, "#{own}-b", *brokers)
  check(status.success?, err)
  run.call("#{own}-b") { eventually("only what has waited") { committed(name, group: "#{own}-b") == [50] } }
  equal(waiting, drain(handled).sort, "the copy")
  _, err, status = guildhall("offsets", "reset", own, "--to", "20", "--yes", *brokers)
  check(status.success? && err.include?("1 of 1 partitions change, 2 messages are skipped, 24 come again"), err)
  check(err.include?("2 messages of 1 key wait and would never be handled: k2"), err)
  check(err.include?("6 messages of 1 key wait and come again with what follows: k2"), err)
  run.call(own) { eventually("from there") { committed(name, group: own) == [50] } }
  equal([*20...50], drain(handled).sort, "exactly what was promised: 24 again and the 6 that have waited")

  out, err, status = guildhall("lag", "--groups", "#{own},#{own}-b", "--max", "0", *brokers)
  equal([0, 2], [status.exitstatus, out.lines.count { |line| line.include?(name) }], err)
  produce(name, [{payload: "more", key: "k"}])
  _, err, status = guildhall("lag", "--groups", "#{own},#{own}-typo", "--max", "1000", *brokers)
  equal([2, true], [status.exitstatus, err.include?("there is no consumer group #{own}-typo")], "a group that is not there: #{err}")
  _, err, status = guildhall("lag", "--groups", own, "--max", "0", *brokers)
  equal([1, true], [status.exitstatus, err.include?("group #{own}, #{name}/0 is behind by 1 messages")], err)
end
