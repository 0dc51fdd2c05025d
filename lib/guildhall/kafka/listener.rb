# frozen_string_literal: true

require "guildhall/json"
require_relative "client"
require_relative "fatal_error"
require_relative "partition"
require_relative "readers"

module Guildhall
  module Kafka
    # The thread that reads for some topics of one consumer group: it polls, hands what it reads to the partitions, and
    # takes part in rebalances. It never runs the application's code and never waits for it, but for the work in
    # progress on a partition that goes away.
    class Listener
      RESTART_PAUSE = 5 # seconds before a client that failed is made anew
      STRANDED = "a commit was begun before all partitions were lost, and is not answered: the group is joined anew"
      STRANDED_CLOSE = 3 # seconds for leaving a group that one is out of
      SESSION_TIMEOUT = 45_000 # milliseconds, librdkafka's default
      private_constant :STRANDED, :STRANDED_CLOSE, :SESSION_TIMEOUT

      # @return [Client]
      attr_reader :client
      # @return [String] the consumer group
      attr_reader :group

      # @param topics [Array<Routing::Topic>] of the same group and the same librdkafka settings
      # @param application [Application]
      # @param number [Integer] which it is of the clients of this group in this process, from 1
      def initialize(topics, application, number: 1)
        @topics = topics
        @number = number
        @group = topics.first.group
        @application = application
        @partitions = {}
        @requests = Thread::Queue.new
        @lock = Mutex.new
        @reader = @fatal = nil
        @stopping = false
        @closed = true
      end

      # @return [void]
      def start
        @thread = Thread.new { run }
        @thread.name = "guildhall listener #{@group}"
        @thread.report_on_exception = false
      end

      # Commits what was stored, in the background. May be called by any thread; does not block.
      # @return [void]
      def commit_soon
        error = @client&.commit_soon
        @application.error(error, "commit", group: @group) if error
        request { give_up_membership if stranded? } if stranded?
      end

      # @return [Array<Partition>] those that are assigned now
      def partitions
        @lock.synchronize { @partitions.values }
      end

      # Runs the block in this listener's thread, soon. May be called by any thread.
      # @return [void]
      def request(&block)
        @requests << block
        wake
      end

      # Ends a poll that waits. May be called by any thread.
      # @return [void]
      def wake
        @lock.synchronize { @reader&.wake }
      end

      # Finishes the work in progress, commits and leaves the group. Does not block.
      # @param deadline [Float] of the monotonic clock, in seconds
      # @return [void]
      def stop(deadline)
        @deadline = deadline
        @stopping = true
        wake
      end

      # @param deadline [Float]
      # @return [Boolean] whether it has ended, and has left the group in an orderly way
      def join(deadline)
        !!(@thread&.join(Clock.left(deadline)) && @closed)
      end

      # @param thread [Thread]
      # @return [Boolean] whether it is this listener's
      def include?(thread)
        thread.equal?(@thread)
      end

      # Called by the client in this listener's thread, within a poll.
      # @param pairs [Array<Array(String, Integer)>]
      # @return [void]
      def partitions_assigned(pairs)
        pairs.each { |name, number| assign(name, number) }
        @application.publish("rebalance.partitions_assigned", group: @group, partitions: pairs)
      rescue StandardError => error
        request { raise error } # nobody would read what was not taken on: the group is joined anew
      end

      # Called by the client in this listener's thread, before the partitions are given up.
      # @param pairs [Array<Array(String, Integer)>]
      # @param lost [Boolean] whether they belong to somebody else already
      # @return [void]
      def partitions_revoked(pairs, lost:)
        leaving = @lock.synchronize { pairs.filter_map { |pair| @partitions[pair] } }
        release(leaving, @stopping ? :shutdown : :revoked, lost) unless leaving.empty?
        @application.publish("rebalance.partitions_revoked", group: @group, partitions: pairs, lost:)
      rescue StandardError => error
        @application.error(error, "rebalance", group: @group)
      end

      # Called by the client in this listener's thread, within a poll.
      # @param json [String]
      # @return [void]
      def statistics_emitted(json)
        return unless @application.listening?

        @application.publish("statistics.emitted", group: @group, statistics: Guildhall::JSON.decode(json))
      rescue StandardError => error
        @application.error(error, "statistics", group: @group)
      end

      private

      def run
        until @stopping
          begin
            listen
          rescue FatalError => error
            return @application.failed(error, group: @group)
          rescue StandardError => error
            @application.error(error, "listener", group: @group)
            rest unless @stopping
          end
        end
      end

      def listen
        @closed = false
        @close_timeout = Client::CLOSE_TIMEOUT
        @client = Client.new(settings, self)
        @reader = Readers.open(@application.config.reader, @client)
        @client.subscribe(@topics.map(&:subscription))
        poll until @stopping
      ensure
        close
      end

      def poll
        room = @application.in_flight.room
        batches, errors = @client.with_handle { @reader.take((@application.config.max_wait_time * 1000).to_i, *room) }
        batches.each { |partition, *batch| partition.deliver(*batch) }
        errors.each { |error| report(error) }
        @requests.pop.call until @requests.empty?
      end

      def report(error)
        return at(error)&.notify(:eofed) if error.end_of_partition?
        raise @fatal = FatalError.of(@client) if error.fatal?

        partitions.each { |partition| partition.missing = true if partition.name == error.topic } if error.unknown_topic?
        @application.error(KafkaError.from(error), "librdkafka", group: @group)
      end

      def at(error)
        @lock.synchronize { @partitions[[error.topic, error.partition]] }
      end

      def assign(name, number)
        topic = @topics.find { |candidate| candidate.match?(name) } or return
        partition = Partition.new(topic, name, number, self, @application)
        partition.queue = @reader.open(name, number, partition, partition.decoding.codec)
        @lock.synchronize { @partitions[[name, number]] = partition }
        partition.begin
      end

      def release(partitions, reason, lost)
        partitions.each { |partition| partition.leave(reason) }
        deadline = @stopping ? @deadline : Clock.now + @application.config.revocation_timeout
        late = partitions.reject { |partition| partition.wait(deadline) }
        partitions.each(&:close)
        late.select(&:working?).each do |partition|
          @application.publish("partition.abandoned", topic: partition.name, partition: partition.number)
        end
        @lock.synchronize { partitions.each { |partition| @partitions.delete([partition.name, partition.number]) } }
        @client.commit(timeout: rest_of(deadline)) unless lost
      end

      # The partitions first: closing the client asks for them to be revoked, when there is nothing left to wait for.
      def close
        give_up(partitions) if @client && partitions.any?
      rescue StandardError => error
        @application.error(error, "listener.close", group: @group)
      ensure
        reader = @reader
        @lock.synchronize { @reader = nil } # nobody may wake what is closed
        reader&.close
        @closed = @client.nil? || @client.close(timeout: @stopping ? rest_of(@deadline) : @close_timeout)
        @client = nil
      end

      # After a fatal error librdkafka asks for nothing more.
      def give_up(partitions)
        return release(partitions, @stopping ? :shutdown : :revoked, false) unless @fatal

        partitions_revoked(partitions.map { |partition| [partition.name, partition.number] }, lost: true)
      end

      # Until the last commit is answered librdkafka takes no new assignment; it has been seen to wait for one for ever.
      def stranded?
        client = @client
        return false if client.nil? || partitions.any?

        client.commit_overdue?((settings.fetch(:"session.timeout.ms", SESSION_TIMEOUT).to_i / 1000.0) + RESTART_PAUSE)
      end

      def give_up_membership
        @close_timeout = STRANDED_CLOSE
        raise TimeoutError, STRANDED
      end

      def rest
        limit = Clock.now + RESTART_PAUSE
        sleep(0.1) until @stopping || Clock.now > limit
      end

      # @return [Float] seconds; there is always a little time left for the brokers to answer
      def rest_of(deadline)
        Clock.left(deadline, least: 0.5)
      end

      def settings
        @application.client_settings(@topics.first, @number)
      end
    end
  end
end
