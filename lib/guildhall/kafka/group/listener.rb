# frozen_string_literal: true

require "guildhall/error_boundary"
require_relative "../broker/offset_reports"
require_relative "../broker/topic_creation"
require_relative "../broker/topic_discovery"
require_relative "../partition/partition"
require_relative "../reachability/answers"
require_relative "../reading"
require_relative "../routing/group_routes"
require_relative "client"
require_relative "lost_membership"
require_relative "missed_assignment"
require_relative "protocols"

module Guildhall
  module Kafka
    # A membership in a consumer group: the thread that polls, the client of librdkafka, its commits.
    # @api private
    module Group
      # The thread that reads some topics of one consumer group: it polls, hands messages to the partitions, and takes part in
      # rebalances. It never runs the application's code. It waits for that code only when a partition is revoked while its
      # consumer is at work.
      class Listener
        # A poll returns at the first message, and after so long at the latest.
        MAX_WAIT_SECONDS = 1
        RESTART_PAUSE_SECONDS = 5 # before a client that failed is replaced
        REJOIN_CLOSE_TIMEOUT_SECONDS = 3 # for closing a client that the group has already dropped
        HELPER_SECONDS = 1 # for a question to the brokers that is on its way when the client is closed
        FIRST_LOOK_SECONDS = 0.002 # after a commit; each pause until the next look for its answer is twice as long
        private_constant :RESTART_PAUSE_SECONDS, :REJOIN_CLOSE_TIMEOUT_SECONDS, :HELPER_SECONDS, :FIRST_LOOK_SECONDS

        # What has happened since it was started: assignments by the group, the time (of the {Clock}) of the last one, and how often all
        # partitions were lost with the session; commits that a broker has accepted and refused, and librdkafka's name of what the last one
        # has come to, nil: it was accepted.
        Counts = Struct.new(:rebalances, :rebalanced_at, :lost, :commits, :failed_commits, :commit_error)

        # @return [Counts] written by the threads of the listener and the timer
        attr_reader :counts
        attr_reader :client, :group
        # @return [String, nil] as the brokers name it in its group, since the group has assigned something to it, if only nothing
        attr_reader :member_id
        # @return [Integer] which it is of this process's members of the group, from 1
        attr_reader :number
        # @return [Float] when it has last polled, was made, or began to close its client, of the {Clock}
        attr_reader :polled_at
        # @return [Reachability::Answers] whether brokers answer it
        attr_reader :answers

        # @param topics [Array<Routing::Topic>] of the same group and the same librdkafka settings
        # @param routes [Routing::GroupRoutes] of the whole group, to which topics of other listeners belong as well
        def initialize(topics, runtime, routes: Routing::GroupRoutes.new(topics), number: 1)
          @topics = topics
          @routes = routes
          @number = number
          @group = topics.first.group
          @runtime = runtime
          @partitions = {}
          @requests = Thread::Queue.new
          @lock = Mutex.new
          @helpers = []
          @reader = @membership = @deadline = @member_id = nil
          @answers = Reachability::Answers.new(settings, runtime.reachability)
          @polled_at = Clock.now
          @counts = Counts.new(0, nil, 0, 0, 0)
          @failed = @over = @assigned = @joined = false
          @closed = true
        end

        def start
          @thread = Thread.new do
            run
            ended = true
          ensure
            restart unless ended || leaving?
          end
          @thread.name = ["guildhall listener", @group, *(@number if @number > 1)].join(" ")
          @thread.report_on_exception = false
        end

        # Commits what was stored, in the background, and reports what becomes of it. May be called by any thread; does not block.
        def commit_soon
          partitions.each(&:store)
          if (client = @client)
            report_commits(client, client.commit_soon)
            look_for_answer_later(client, FIRST_LOOK_SECONDS)
          end
          request { rejoin_group_if_stuck } if stuck?
        end

        def partitions = @lock.synchronize { @partitions.values }

        # Runs the block in this listener's thread, soon. May be called by any thread.
        def request(&block)
          @requests << block
          wake
        end

        # Ends a poll that waits. May be called by any thread.
        def wake = @lock.synchronize { @reader&.wake }

        # Finishes the work in progress, commits and leaves the group. Does not block.
        def stop(deadline)
          @deadline = deadline
          wake
        end

        # Whether it has ended, and has left the group in an orderly way.
        def join(deadline) = !!(@thread&.join(Clock.left(deadline)) && @closed)

        # The group has assigned partitions to it, if only none, and not taken all away without asking.
        def assigned? = @assigned
        def leaving? = !@deadline.nil?

        # It has left, and does nothing any more.
        def ended? = leaving? && !@thread&.alive?

        # Whether the thread is this one, or one that it waits for when it closes.
        def include?(thread) = thread.equal?(@thread) || @lock.synchronize { @helpers.include?(thread) }

        # Called by the client in this listener's thread, within a poll.
        def partitions_assigned(pairs)
          # A partition without a reader would never be read: the client rejoins the group.
          ErrorBoundary.run(->(error) { request { raise error } }) do
            @member_id = @client.member_id.then { |id| id unless id.empty? }
            pairs.each { |name, number| assign(name, number) }
            @assigned = @joined = true
            @counts.rebalances += 1
            @counts.rebalanced_at = Clock.now
            @membership&.assigned
            @runtime.publish("rebalance.partitions_assigned", group: @group, member: @number, partitions: pairs)
            report_start(pairs) if pairs.any?
          end
        end

        # Called by the client in this listener's thread, before the partitions are given up.
        # @param lost [Boolean] whether they belong to somebody else already
        def partitions_revoked(pairs, lost:)
          guarded("rebalance") do
            @membership&.lost if lost
            @assigned = false if lost
            @counts.lost += 1 if lost
            leaving = @lock.synchronize { pairs.filter_map { |pair| @partitions[pair] } }
            release(leaving, lost) unless leaving.empty?
          ensure
            @runtime.publish("rebalance.partitions_revoked", group: @group, member: @number, partitions: pairs, lost:)
          end
        end

        # Called by the client in this listener's thread, within a poll.
        def statistics_emitted(json)
          guarded("statistics") do
            @answers.read(json)
            request { raise_refused } if @answers.never_joins? && @client.subscribed?
            look_for_missed_assignment
            next unless @runtime.listening?("statistics.emitted") && @answers.statistics_due?

            statistics = Reachability::Answers::FORMAT.decode(json)
            @runtime.publish("statistics.emitted", group: @group, member: @number, statistics:)
          end
        end

        private

        def guarded(type, &) = ErrorBoundary.run(->(error) { @runtime.error(error, type, group: @group) }, &)

        # A subscriber may end the thread that publishes (Thread.exit): nothing can rescue that, but the listener must go on.
        def restart
          @runtime.error(TaskError.new("the listener's thread was ended (by Thread.exit in a subscriber?)"), "listener", group: @group)
          start
        end

        def run
          until leaving? || @over
            ErrorBoundary.run(->(error) { failed(error) }) { listen }
          end
        end

        def failed(error)
          if error.is_a?(FatalError)
            return if fall_back(error)
            return @runtime.failed(error, group: @group) if (@over = error.final?)
          end
          @runtime.error(error, "listener", group: @group)
          return if leaving?

          limit = (@polled_at = Clock.now) + RESTART_PAUSE_SECONDS
          sleep(0.1) until leaving? || Clock.now > limit
        end

        # As librdkafka reports it of newer brokers.
        def raise_refused
          return unless consumer_protocol?

          @failed = true
          raise FatalError.joining(Broker::Librdkafka::UNSUPPORTED_FEATURE, "the brokers do not know the consumer protocol", @group)
        end

        def consumer_protocol? = settings[:"group.protocol"] == Protocols::CONSUMER

        # In a thread of its own, of which there is one at a time.
        def look_for_missed_assignment
          return if @assignment.nil? || @missed&.alive? || !@assignment.suspected?(@answers.coordinator_timeouts)

          assignment = @assignment
          @missed = in_background("assignment") do
            guarded("assignment") do
              still = assignment.missed
              request { raise TimeoutError, MissedAssignment::REASON if still.call } if still
            end
          end
        end

        # The consumer protocol was refused, and the next client is to use the classic one.
        def fall_back(error)
          answer = @runtime.fall_back(@topics.first, error) or return false

          @runtime.publish("protocol.refused", group: @group, reason: error.code_name) if answer == :first
          true
        end

        def listen
          @closed = @assigned = @joined = @failed = false
          @polled_at = Clock.now
          @answers.restart
          @client = Client.new(Reachability::Answers.settings(settings), self)
          @membership = LostMembership.new(@client, settings)
          @assignment = consumer_protocol? ? MissedAssignment.new(@client, settings) { @lock.synchronize { @partitions.keys } } : nil
          @missed = nil
          @reader = Reading::Reader.for(@client)
          subscribe
          poll until leaving?
        ensure
          close
        end

        # Asks brokers something in a thread of its own, which ends with the client.
        def in_background(name, &)
          @lock.synchronize do # until it is known that the thread is one of ours, {#include?} waits
            thread = Thread.new(&)
            thread.name = "guildhall #{name}"
            thread.report_on_exception = false
            @helpers = [*@helpers.select(&:alive?), thread]
            thread
          end
        end

        # Topics are looked for only if a route has a pattern. A topic with a route of its own does not count as found by a pattern.
        def subscribe
          create_topics
          named = @topics.reject(&:pattern?).map(&:name)
          return @client.subscribe(named) if @topics.none?(&:pattern?)

          discovery = Broker::TopicDiscovery.new(@client, settings) { |name| !named.include?(name) && @topics.include?(@routes.route(name)) }
          subscribe_to(named, discovery.find)
          in_background("topics") do
            loop { guarded("topic_discovery") { discovery.find_others&.then { |found| request { subscribe_to(named, found) } } } }
          end
        end

        def create_topics
          declared = Routing::DeclaredTopic.made(@topics, routed: for_development?)
          creation = Broker::TopicCreation.new(settings, declared) do |error, name|
            @runtime.error(error, "topic_creation", group: @group, topic: name)
          end
          # While no broker answers it does not poll, but counts as alive (`polled_at`).
          creation.start { (@polled_at = Clock.now) && leaving? }
          client = @client
          in_background("topic creation") { creation.try_again(client) } if creation.refused?
        end

        # Whether its broker is that of {Development}, which is empty at first.
        def for_development? = settings[:"bootstrap.servers"].respond_to?(:for_development?)

        def subscribe_to(named, found)
          @client.subscribe(named + found)
          found.each { |name| @runtime.report_overlap(@routes, name) }
        end

        def poll
          room = @runtime.backpressure.room
          batches, errors = @client.with_handle { @reader.take(MAX_WAIT_SECONDS * 1000, *room) }
          @polled_at = Clock.now
          batches.each do |partition, *batch|
            gap = Broker::OffsetReports.gap(@client, partition, batch.first.first)
            @runtime.publish("offsets.reset", group: @group, **gap) if gap
            partition.deliver(*batch)
          end
          errors.each { |error| report(error) }
          @requests.pop.call until @requests.empty?
        end

        def report(error)
          return partition_of(error.topic, error.partition)&.notify(:eofed) if error.end_of_partition?
          raise FatalError.of(@client, @group, joined: @joined) if (@failed = error.fatal?)

          partitions.each { |partition| partition.missing = true if partition.name == error.topic } if error.unknown_topic?
          found = KafkaError.from(error, @group)
          partition_of(error.topic, error.partition)&.denied = found if error.denied?
          raise found if @runtime.ask_again?(@topics.first, found) || (error.topic.nil? && fall_back(found))

          place = {topic: error.topic, partition: (error.partition if error.topic && !error.partition.negative?)}.compact
          @runtime.error(found, "librdkafka", group: @group, **place)
        end

        def partition_of(name, number) = @lock.synchronize { @partitions[[name, number]] }

        def assign(name, number)
          topic = @routes.route(name) or return
          partition = Partition.new(topic, name, number, self, @runtime)
          partition.queue = @reader.open(name, number, partition, partition.decoding.codec)
          @lock.synchronize { @partitions[[name, number]] = partition }
          partition.begin
        end

        # The brokers are asked in a thread of its own: a rebalance does not wait for them.
        def report_start(pairs)
          client = @client
          seeking = pairs.map(&:first).uniq.select { |name| @routes.route(name)&.may_seek_at_first? }
          in_background("offsets") do
            guarded("offsets") do
              events = Broker::OffsetReports.at_start(client, settings, pairs, seeking) { |pair| partition_of(*pair)&.sought? }
              events.each { |name, payload| @runtime.publish(name, group: @group, **payload) }
            end
          end
        end

        def release(partitions, lost)
          reason = leaving? ? :shutdown : :revoked
          partitions.each { |partition| partition.leave(reason) }
          deadline = @deadline || (Clock.now + @runtime.config.revocation_timeout)
          late = partitions.reject { |partition| partition.wait(deadline) }
          partitions.each(&:close)
          late.select(&:working?).each { |partition| @runtime.abandoned(partition) }
          @lock.synchronize { partitions.each { |partition| @partitions.delete([partition.name, partition.number]) } }
          commit_given_up(partitions, deadline) unless lost
        ensure
          partitions.each { |partition| @client.drop(partition.name, partition.number) }
        end

        def commit_given_up(_partitions, deadline) = @client.commit(timeout: remaining(deadline))

        # Gives up the partitions first: the client asks for that while it closes, and then nobody would wait for their consumers.
        def close
          guarded("listener.close") { give_up(partitions) if @client && partitions.any? }
        ensure
          guarded("listener.close") { @helpers.each(&:kill).each { |thread| thread.join(HELPER_SECONDS) } }
          reader = @reader
          @lock.synchronize { @reader = nil } # a closed reader must not be woken
          reader&.close
          @polled_at = Clock.now # a client takes up to CLOSE_TIMEOUT_SECONDS to close, and is replaced then
          @closed = @client.nil? || @client.close(timeout: close_timeout)
          @client = @membership = @member_id = nil
        end

        # After a fatal error librdkafka asks for nothing more.
        def give_up(partitions)
          return release(partitions, false) unless @failed

          partitions_revoked(partitions.map { |partition| [partition.name, partition.number] }, lost: true)
        end

        def close_timeout
          return remaining(@deadline) if leaving?

          stuck? ? REJOIN_CLOSE_TIMEOUT_SECONDS : Client::CLOSE_TIMEOUT_SECONDS
        end

        # The timer looks for the answer: if only the next commit did, each commit would seem to take as long as the time between two.
        def look_for_answer_later(client, pause)
          return unless client.committing? && pause < @runtime.config.commit_interval && @runtime.listening?("offsets.committed")

          @runtime.timer.after(pause) do
            report_commits(client, client.look_for_answer)
            look_for_answer_later(client, pause * 2)
          end
        end

        def report_commits(client, error)
          @runtime.error(error, "commit", group: @group) if error
          client.answered_commits.each do |code, seconds|
            code ? @counts.failed_commits += 1 : @counts.commits += 1
            @counts.commit_error = code
            @runtime.publish("offsets.committed", group: @group, seconds:, error: code)
          end
        end

        def stuck? = partitions.none? && @membership&.suspected?

        # Blocks the listener's thread for a broker's answer, when there is nothing to poll for.
        def rejoin_group_if_stuck
          reason = stuck? && @membership.reason or return
          raise TimeoutError, reason
        end

        # There is always a little time left for the brokers to answer.
        def remaining(deadline) = Clock.left(deadline, least: 0.5)
        def settings = @runtime.client_settings(@topics.first, @number)
      end
    end
  end
end
