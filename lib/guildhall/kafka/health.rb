# frozen_string_literal: true

require "guildhall/clock"

module Guildhall
  module Kafka
    # Whether a running application is alive and ready, as a supervisor (Kubernetes, systemd, a load balancer) wants to know it. Any thread
    # may ask; nothing is asked of a broker.
    class Health
      # A listener polls at least once in Listener::MAX_WAIT_SECONDS, unless it waits for work on a partition that goes away. Seconds.
      GRACE_SECONDS = 30

      # What was found: empty `problems` mean yes.
      Answer = Data.define(:problems) do
        def ok? = problems.empty?

        def to_s = ok? ? "ok" : problems.join("; ")
      end

      def initialize(application)
        @application = application
        @stalled = {}
        @lock = Mutex.new
        application.instrumentation.subscribe("partition.stalled") { |event| stalled(**event.payload) }
      end

      # Every listener polls, no partition with messages left has stopped for good, and no consumer has been at work for longer than
      # `config.max_consume_time` without progress. A process that is not restarted for it would stay as it is.
      def live
        problems = []
        problems << "failed: #{@application.failure.message}" if @application.failure
        problems.concat(silent.map { |listener| "group #{listener.group}: not polled for #{since(listener).round} s" })
        problems.concat(stuck.map { |place| "#{place} is stalled" }, overdue)
        Answer.new(problems:)
      end

      # The application is running, each of its groups has assigned partitions (if only none, where there are more members), and brokers
      # and schema registries answer.
      def ready
        return Answer.new(problems: ["draining"]) if @application.state == :stopping || @application.quiet?
        return Answer.new(problems: [@application.state.to_s]) unless @application.running?

        waiting = @application.members.reject(&:assigned?).map { |members| "group #{members.group}: no partitions are assigned" }
        Answer.new(problems: unanswered + waiting + (@application.registries&.problems || []))
      end

      private

      def unanswered
        listeners = @application.listeners.reject { |listener| listener.leaving? || listener.answers.any? }
        listeners.map { |listener| "group #{listener.group}: no broker answers, for #{listener.answers.seconds.round} s" }.uniq
      end

      def silent
        return [] unless @application.running?

        @application.listeners.select { |listener| !listener.leaving? && since(listener) > limit }
      end

      def since(listener) = Clock.now - listener.polled_at

      def limit
        Connection::Listener::MAX_WAIT_SECONDS + @application.config.revocation_timeout + GRACE_SECONDS
      end

      def overdue
        limit = @application.config.max_consume_time
        return [] unless limit && @application.running?

        @application.partitions.filter_map do |partition|
          seconds = partition.seconds_without_progress
          "#{partition}: at work for #{seconds.round} s without progress" if seconds && seconds > limit
        end
      end

      # The first time the partition seeks, and the second time it rejoins: what was tried already has not helped.
      def stalled(topic:, partition:, position:, action:, **)
        @lock.synchronize { @stalled["#{topic}/#{partition}"] = position if action == :rejoin }
      end

      def stuck
        return [] if @stalled.empty?

        positions = @application.partitions.to_h { |partition| [partition.to_s, partition.position] }
        @lock.synchronize do
          @stalled.delete_if { |place, position| positions[place] != position }
          @stalled.keys
        end
      end
    end
  end
end
