# frozen_string_literal: true

# stress: 12 kills
#
# Proves that with `ordering :key` a consumer that is killed (-9) while keys wait loses nothing: the next member begins with
# the messages that were not done, in order within each key. It repeats only what was handled since the last commit.
require "fileutils"
require_relative "../support/scenario"

MEMBER = File.expand_path("../support/key_ordered_member.rb", __dir__)

Scenario.run do
  keys = 40
  each = long? ? 200 : 60
  name = topic
  produce(name, (0...(keys * each)).map { |i| {payload: (i / keys).to_s, key: "k#{i % keys}", partition: 0} })
  keys.times { |key| account.produced("k#{key}", each) }
  kills = 0
  release = "#{account.path}.release"
  member = lambda do |&stop|
    arguments = [servers, name, group, JSON.generate(Scenario.membership(session: embedded ? 1_000 : 6_000)), account.path, "k1,k4", "7", release]
    IO.popen([RbConfig.ruby, MEMBER, *arguments]) do |output|
      handled = 0
      stop.call(output.pid, handled += 1) while output.gets
    end
  end
  all_but_stuck = (keys * each) - (2 * (each - 7))
  (long? ? 12 : 3).times do
    goal = rand(100..500)
    member.call do |pid, handled|
      Process.kill(:KILL, pid) if handled == goal || account.settled == all_but_stuck
    end
    kills += 1
  end
  before = account.consumed
  settled = account.settled
  FileUtils.touch(release)
  member.call do |pid, _|
    next unless account.complete?

    # It may have to do again what the one before had not committed.
    eventually("all committed") { committed(name) == [keys * each] }
    Process.kill(:TERM, pid)
  end
  check(before - settled <= kills * 500, "#{before - settled} handled twice")
  FileUtils.rm_f(release)
  notes << "#{kills} kills" << "#{account.consumed - (keys * each)} handled twice"
end
