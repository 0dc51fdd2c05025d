# frozen_string_literal: true

require "guildhall/clock"
require "guildhall/printable"

module Guildhall
  module Kafka
    # Whether a running application is alive and ready, as supervisors (Kubernetes, systemd, a load balancer) want to know it. Any thread
    # may ask; no broker is asked.
    class Health
      # Seconds beyond the longest time between two signs of life of a listener: it polls at least once in Listener::MAX_WAIT_SECONDS,
      # unless it waits for work on a partition that goes away, or closes a client that another one replaces.
      GRACE_SECONDS = 5

      # One reason to say no. code: for programs, one of those in the guide; text: for people.
      Problem = Data.define(:code, :text) do
        def to_s = text
      end

      # What was found: empty `problems` mean yes.
      Answer = Data.define(:problems) do
        def ok? = problems.empty?

        def to_s = ok? ? "ok" : problems.join("; ")
      end

      def initialize(application)
        @application = application
      end

      # Every listener polls, no partition with messages left has stopped for good, and no consumer has been at work for longer than
      # `config.max_consume_time` without progress. Only a restart helps a process that is not alive.
      def live
        failure = @application.failure
        Answer.new(problems: [*(problem(:failed, "failed: #{failure.message}") if failure), *silent, *stalled, *overdue])
      end

      # The application is running, each of its groups has assigned partitions (if only none, where there are more members), and brokers
      # and schema registries answer, as does the outbox's database, and brokers take its messages.
      def ready
        return Answer.new(problems: [problem(:draining, "draining")]) if @application.state == :stopping || @application.quiet?
        return Answer.new(problems: [problem(:not_running, @application.state.to_s)]) unless @application.running?

        waiting = @application.members.reject(&:assigned?).map do |members|
          problem(:no_partitions, "group #{members.group}: no partitions are assigned")
        end
        registries = @application.registries&.problems || []
        outbox = @application.outbox&.problem
        Answer.new(problems: unanswered + waiting + registries.map { |text| problem(:registry, text) } +
                             [*(problem(:outbox, "outbox: #{outbox}") if outbox)])
      end

      private

      # Registries and failures may say anything.
      def problem(code, text) = Problem.new(code:, text: Printable.valid(text))

      def listeners = @application.listeners.reject(&:leaving?)

      def unanswered
        silent = listeners.reject { |listener| listener.answers.any? }
        silent.map do |listener|
          problem(:no_broker, "group #{listener.group}: no broker answers, for #{Printable.duration(listener.answers.seconds)}")
        end.uniq
      end

      def silent
        return [] unless @application.running?

        limit = Group::Listener::MAX_WAIT_SECONDS + GRACE_SECONDS +
                [@application.config.revocation_timeout, Group::Client::CLOSE_TIMEOUT_SECONDS].max
        listeners.filter_map do |listener|
          seconds = Clock.now - listener.polled_at
          problem(:not_polled, "group #{listener.group}: not polled for #{Printable.duration(seconds)}") if seconds > limit
        end
      end

      def overdue
        return [] unless @application.running?

        @application.partitions.filter_map do |partition|
          seconds = partition.seconds_without_progress
          next unless partition.overdue?(seconds)

          problem(:overdue, "#{partition}: at work for #{Printable.duration(seconds)} without progress")
        end
      end

      # It has rejoined in vain: the first time that a partition stalls, it seeks.
      def stalled
        partitions = @application.partitions.select { |partition| partition.stall&.tried&.include?(:rejoin) }
        partitions.map { |partition| problem(:stalled, "#{partition} is stalled") }.uniq
      end
    end
  end
end
