# frozen_string_literal: true

# broker: real (one of its own: the brokers decide the session of this protocol's members)
# everyday: no
# stress: all of it
#
# Proves that a group changes its protocol in place, while messages come and its processes are replaced one after the other: from eager
# rebalances to the consumer protocol, and back to eager or cooperative ones; members of both kinds share the partitions meanwhile, for as
# long as it takes. Beside cooperative members the brokers may let nobody in (their assignments have data of librdkafka's that would be lost):
# then those of the consumer protocol wait until the last of them has left, and take all. With ordering by key and virtual partitions beside, nothing is lost or reordered.
require_relative "../support/scenario"
require_relative "../support/deploy"

PROCESSES = 3
CONSUMER = "consumer protocol"
COOPERATIVE = "cooperative-sticky"

# Replaces the processes one after the other.
# @param together [Boolean] whether those before and after work side by side in any case
def replace(scenario, deploy, release, to, settings, together: true)
  from = deploy.noted
  PROCESSES.times do |number|
    scenario.equal(0, deploy.stop(release.shift), "exit status")
    release << deploy.start(settings)
    before = together ? [] : release.first(PROCESSES - 1 - number)
    scenario.eventually("shared (#{to}, process #{number})") { deploy.settled?(*release) || deploy.settled?(*before) }
    so_far = scenario.account.settled
    scenario.eventually("they all go on") { scenario.account.settled > so_far + 200 }
  end
  refused = deploy.refused(from).uniq
  scenario.notes << "to #{to}: rests #{deploy.rests(from)}#{", refused until the others had left" if refused.any?}"
  scenario.check(refused.empty? || (!together && refused == ["GROUP_ID_NOT_FOUND"]), "refused: #{refused}")
end

Scenario.run do
  own_broker(Scenario::QUICK_GROUPS) or next
  classic = ["range", COOPERATIVE].to_h { |strategy| [strategy, Scenario.membership("partition.assignment.strategy": strategy)] }
  settings = {CONSUMER => {}, **classic}
  [["range", CONSUMER, "range", CONSUMER, COOPERATIVE], [COOPERATIVE, CONSUMER]].each do |first, *others|
    another_group
    deploy = Deploy.new(self)
    release = Array.new(PROCESSES) { deploy.start(settings[first]) }
    eventually("shared (#{first})") { deploy.settled?(*release) }
    deploy.under_load do
      others.each { |to| replace(self, deploy, release, to, settings[to], together: first != COOPERATIVE) }
    end
    eventually_complete
    release.each { |process| equal(0, deploy.stop(process), "exit status") }
  ensure
    deploy&.close
  end
end
