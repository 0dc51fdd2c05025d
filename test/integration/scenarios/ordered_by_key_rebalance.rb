# frozen_string_literal: true

# stress: 30 members
#
# Proves that with `ordering :key` rebalances lose and reorder nothing while keys wait: members come and go, each gives up parked keys
# with its partitions, and the next owner continues with the messages that were not done.
require "fileutils"
require_relative "../support/scenario"

MEMBER = File.expand_path("../support/key_ordered_member.rb", __dir__)

Scenario.run do
  keys = 40
  each = long? ? 300 : 150 # more of a key that waits than that would make its partition rest
  partitions = 4
  name = topic(partitions:)
  produce(name, (0...(keys * each)).map { |i| {payload: (i / keys).to_s, key: "k#{i % keys}", partition: i % partitions} })
  keys.times { |key| account.produced("k#{key}", each) }
  release = "#{account.path}.release"
  arguments = [servers, name, group, JSON.generate(Scenario.membership(session: embedded ? 2_000 : 6_000)), account.path, "k1,k11,k21,k31", "9", release]
  quiet = {out: File::NULL, err: File::NULL}
  begin
    members = Array.new(2) { Process.spawn(RbConfig.ruby, MEMBER, *arguments, **quiet) }
    came = 2
    (long? ? 28 : 3).times do
      before = account.settled
      eventually("progress") { account.settled > before + 50 || account.settled > (keys * each) - (5 * each) }
      members << Process.spawn(RbConfig.ruby, MEMBER, *arguments, **quiet)
      came += 1
      sleep(rand(0.5..2.0))
      leaving = members.shift
      Process.kill(%i[TERM KILL].sample, leaving)
      Process.wait(leaving)
    end
    FileUtils.touch(release)
    eventually_complete("all consumed", 150)
    done = [(keys * each) / partitions] * partitions
    eventually("what a killed member had not committed is done again") { committed(name, partitions:) == done }
  ensure
    members.each { |pid| Process.kill(:TERM, pid) }
    members.each { |pid| Process.wait(pid) }
    FileUtils.rm_f(release)
  end
  notes << "#{came} members"
end
