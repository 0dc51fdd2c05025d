# frozen_string_literal: true

# broker: real (one of its own: the brokers decide the session of this protocol's members)
# everyday: no
# stress: the classic protocol beside it, for comparison
#
# Proves what a rolling deploy of a group costs with the consumer protocol, in rests of partitions, while messages come. A process that
# joins takes its share from the others, and they keep the rest; from one that leaves, nobody else gives anything up. With static members
# each partition rests once, while its own process is restarted. With ordering by key and virtual partitions beside, nothing is lost or
# reordered.
ENV["SESSION"] = "30000" # a process that is started again must be back by then
require_relative "../support/scenario"
require_relative "../support/deploy"

PROCESSES = 3
STATIC = "consumer, static members"
CLASSIC = %w[range cooperative-sticky].freeze

# The strategies of the classic protocol divide each topic by itself.
def spread_of(kind) = CLASSIC.include?(kind) ? Deploy::PARTITIONS : 1

# One process after the other is replaced.
# @yieldparam number [Integer] of the process
# @return [Array<Array<Integer>>] of each replacement, how many partitions the processes gave up that go on: where another one joined, and
#   where one left
def replace(scenario, deploy, release, kind, &settings)
  spread = spread_of(kind)
  Array.new(PROCESSES) do |number|
    leaving = release.shift
    pid = leaving.pid
    first_leaves = kind == STATIC # the name is free once its process has left
    from = deploy.noted
    scenario.equal(0, deploy.stop(leaving), "exit status") if first_leaves
    release << deploy.start(settings.call(number))
    scenario.eventually("shared with the new process (#{kind})") { deploy.settled?(*release, *(leaving unless first_leaves), spread:) }
    joined = deploy.given_up(from, [pid]).first
    from = deploy.noted
    unless first_leaves
      scenario.equal(0, deploy.stop(leaving), "exit status")
      scenario.eventually("shared by those that are left (#{kind})") { deploy.settled?(*release, spread:) }
    end
    [joined, deploy.given_up(from, [pid]).first]
  end
end

Scenario.run do
  own_broker(Scenario::QUICK_GROUPS) or next
  kinds = {"consumer" => {}, STATIC => {}}
  CLASSIC.each { |strategy| kinds[strategy] = Scenario.membership("partition.assignment.strategy": strategy) } if long?
  kinds.each do |kind, kafka|
    another_group
    deploy = Deploy.new(self)
    settings = ->(number) { kind == STATIC ? {"group.instance.id": "app-#{number}"} : kafka }
    release = Array.new(PROCESSES) { |number| deploy.start(settings.call(number)) }
    eventually("shared (#{kind})") { deploy.settled?(*release, spread: spread_of(kind)) }
    deploy.under_load do
      from = deploy.noted
      given_up = replace(self, deploy, release, kind, &settings)
      rests = deploy.rests(from)
      notes << "#{kind}: given up #{given_up}, rests #{rests}"
      case kind
      when "consumer"
        check(given_up.all? { |joining, leaving| joining <= 5 && leaving.zero? }, "given up by processes that go on: #{given_up}")
      when STATIC
        equal([[0, 0]] * PROCESSES, given_up, "given up by processes that go on")
        equal({1 => Deploy::PARTITIONS * 3}, rests, "partitions by how often each rested")
      end
    end
    eventually_complete("all consumed (#{kind})")
    release.each { |process| equal(0, deploy.stop(process), "exit status") }
  ensure
    deploy&.close
  end
end
