# frozen_string_literal: true

require "guildhall/clock"
require "guildhall/printable"
require "guildhall/version"
require_relative "../health"
require_relative "../process_name"
require_relative "process_memory"

module Guildhall
  module Kafka
    module Reporting
      # What {Application#report} answers: one process at one moment, as JSON has it. Fields are only added within a version; what is nil
      # is left out. Times are seconds, `at` and `started` since 1970; sizes are bytes; what only grows (`cpu`, `gc`, counts) is the sum
      # since the start: two reports give the rate.
      # @api private
      class Report
        VERSION = 1 # of the format: within one, fields are only added
        MAX_TASKS = 20 # of the pool's, those that were measured
        private_constant :MAX_TASKS

        # Which process has written a record, and which release and version of the format it has.
        # @param process [String] see {ProcessName.of}
        # @return [Hash{String=>Object}]
        def self.origin(config, process)
          release = config.release_name
          {"v" => VERSION, "app" => Printable.valid(config.client_id), "process" => process,
           "release" => release && Printable.valid(release)}.compact
        end

        # @param runtime [Runtime, nil] the application's; nil: it has not been started
        def initialize(application, runtime)
          @application = application
          @runtime = runtime
        end

        # @return [Hash{String=>Object}] frozen
        def to_h
          Ractor.make_shareable({**process, **work, "pool" => pool, "groups" => groups, "topics" => topics}.compact)
        end

        private

        def process
          health = Health.new(@application)
          config = @application.config
          limit, used = ProcessMemory.limit_and_used
          {"kind" => "state", **Report.origin(config, ProcessName.of(@runtime&.started_at)), "at" => Time.now.to_f.round(3),
           "state" => state, "guildhall" => Guildhall::VERSION, "ruby" => RUBY_VERSION, "started" => started,
           "host" => ProcessName.host, "pid" => Process.pid, "max_consume_time" => config.max_consume_time,
           "number" => @application.process_number, "commands" => config.commands_taken.map(&:name),
           "live" => problems(health.live), "ready" => problems(health.ready),
           "failure" => text(@application.failure&.message), "rss" => ProcessMemory.resident, "rss_limit" => limit, "memory_used" => used,
           "cpu" => Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID).round(3), "gc" => (GC.total_time / 1e9).round(3),
           "full_collections" => full_collections, "threads" => Thread.list.size}
        end

        def full_collections
          full = @runtime&.full_collections or return
          {"state" => full.state.name, "run" => full.counts.transform_keys(&:name), "seconds" => full.seconds.round(3),
           "put_off" => full.put_off}
        end

        def started = @runtime && @runtime.started_at.to_f.round(3)

        def state
          return "failed" if @application.failure
          return "quiet" if @application.running? && @application.quiet?

          @application.state.name
        end

        def problems(answer) = answer.problems.map { |problem| {"code" => problem.code.name, "text" => problem.to_s} }

        # Settings and the environment may be in any encoding.
        def text(string) = string && Printable.valid(string)

        def work
          flight = @application.backpressure
          runners = @application.runners
          {"runners" => runners && {"all" => runners.size, "busy" => runners.busy, "waiting" => runners.waiting},
           "flight" => flight && {"messages" => flight.messages, "bytes" => flight.bytes, "max_messages" => flight.max_messages,
                                  "max_bytes" => flight.max_bytes},
           "producer" => {"queued" => @application.producer_queue}}
        end

        def pool
          pool = @application.pool_in_use or return
          stats = pool.stats
          {"workers" => stats[:workers], "busy" => stats[:busy], "queued" => stats[:queued], "inline" => stats[:inlined],
           "by_workers" => stats[:by_workers], "deaths" => stats[:deaths], "breaker_open" => stats[:breaker_open],
           "wait" => quantiles(stats[:wait_seconds]), "run" => quantiles(stats[:run_seconds]), "tasks" => tasks(pool)}
        end

        def quantiles(seconds) = seconds.transform_keys(&:name).compact

        def tasks(pool)
          measured = pool.report.rows.select(&:gain).first(MAX_TASKS)
          measured.map do |row|
            {"task" => row.task, "bytes" => row.bytes, "payloads" => row.payloads, "gain" => row.gain.round(2), "parallel" => row.parallel}
          end
        end

        def groups
          @application.members.group_by(&:group).map do |group, members|
            listeners = members.flat_map(&:listeners)
            {"group" => text(group), "assigned" => members.all?(&:assigned?), "members" => listeners.map { |one| member(one) }}
          end
        end

        def member(listener)
          counts = listener.counts
          answers = listener.answers
          {"number" => listener.number, "id" => listener.member_id, "polled" => (Clock.now - listener.polled_at).round(3),
           "silence" => answers.seconds.round(3), "answered" => answers.any?, "leaving" => listener.leaving?,
           "partitions" => listener.partitions.size, "rebalances" => counts.rebalances,
           "rebalanced" => counts.rebalanced_at && (Clock.now - counts.rebalanced_at).round(3), "lost" => counts.lost,
           "commits" => counts.commits, "failed_commits" => counts.failed_commits, "commit_error" => counts.commit_error}.compact
        end

        # Also those of which this process has no partition.
        def topics
          decodings = @runtime&.decodings || {}
          @minute = @application.reporter&.minutes&.running || {}
          assigned = @application.partitions.group_by { |partition| [partition.topic.group, partition.name] }
          consumed = decodings.keys.to_h { |topic| [[topic.group, topic.to_s], topic] }
          missing = consumed.reject { |_, topic| assigned.keys.any? { |group, name| group == topic.group && topic.match?(name) } }
          assigned.map { |place, partitions| topic(*place, partitions.first.topic, decodings, partitions) } +
            missing.map { |place, topic| topic(*place, topic, decodings, []) }
        end

        def topic(group, name, route, decodings, partitions)
          decoding = decodings[route] || partitions.first&.decoding
          {"topic" => name, "group" => text(group), "consumer" => route.consumer.to_s,
           "dead_letter_topic" => route.dead_letter_topic, "max_retries" => route.dead_letter_queue&.max_retries,
           "decoded_by" => decoding&.place&.name,
           "not_on_workers" => decoding&.reason, "minute" => @minute[[group, name]],
           "partitions" => partitions.sort_by(&:number).map { |partition| partition.snapshot.data }}.compact
        end
      end
    end
  end
end
