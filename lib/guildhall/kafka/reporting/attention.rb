# frozen_string_literal: true

require "guildhall/printable"
require_relative "limits"
require_relative "wording"

module Guildhall
  module Kafka
    module Reporting
      # What of some reports needs a person: a fixed list of rules, each of which says where, what, for how long, why, and what to do.
      # The same cause in several partitions of a topic is said once.
      # @api private
      class Attention
        # Something that needs a person. severity: :bad (messages wait, or a process will be lost), :warn (it may pass by itself) or
        # :note (worth knowing); process: the report's name of it, or of the one that has the worst of some partitions; place: where, for
        # people; label: a word or two for it; what, why: what is the matter; help: what to do; more: what others have reported that
        # belongs to it; began: since when, in seconds since 1970. What follows is known of partitions only: their group, topic and numbers,
        # the messages that wait there, and the error that is the cause.
        Item = Data.define(:severity, :process, :place, :label, :what, :why, :help, :more, :group, :topic, :partitions, :messages, :began,
          :error) do
          def initialize(why: nil, help: nil, more: nil, group: nil, topic: nil, partitions: nil, messages: nil, began: nil, error: nil, **)
            super
          end

          # @return [String] all but {#more}, as one line
          def text = [[what, *why].join(": "), *help&.then { |text| "what to do: #{text}" }].join("; ")
        end
        # A partition that needs a person, before it is put together with others. report: of the process, made at that moment; topic: what
        # it has of its topic; limits: of the topic; same: partitions of the process with the same cause, of which this one's message is
        # the oldest.
        Finding = Data.define(:severity, :report, :at, :topic, :row, :catches_up, :limits, :same) do
          def all = same || [self]
          def number = row["partition"]
          def of?(group, topic) = self.topic.values_at("group", "topic") == [group, topic]
          # A report says for how long, at the moment when it was made.
          def began = Wording.since(row)&.then { |seconds| at - seconds }
          def identity = [severity, *topic.values_at("group", "topic"), row["state"], row["overdue"], cause]
          def cause = error&.values_at("error_class", "place", "kind")
          # Of the message that fails, or of the key that has waited longest.
          def error = (row["error"] if row.dig("error", "now")) || parked&.fetch("error", nil)
          def parked = row.dig("parked", "keys").to_i.positive? ? row.dig("parked", "oldest", 0) : nil
          def hidden = with(row: Wording.hidden(row), same: same&.map { |one| one.with(row: Wording.hidden(one.row)) })
        end
        private_constant :Finding
        SEVERITIES = %i[bad warn note].freeze
        BRIEF_SECONDS = 10 # for which a message may fail before somebody should know
        FULL = 0.95 # of the memory that a process may have: there is no time left
        BAD = %w[denied stalled blocked].freeze # states, as the next three
        RETRIED = %w[backoff keys].freeze
        NOTED = %w[paused quiet].freeze
        USUAL = %w[working queued waiting sending].freeze
        # Problems that probes have and partitions say themselves, with more.
        SAID = %w[stalled overdue].freeze
        LABELS = {"no_broker" => "no broker", "draining" => "quiet", "failed" => "failed", "not_polled" => "not polled",
                  "no_partitions" => "no partitions", "registry" => "registry", "not_running" => "not running",
                  "outbox" => "outbox"}.freeze
        private_constant :BRIEF_SECONDS, :BAD, :RETRIED, :SAID, :LABELS

        class << self
          # @return [String] what to do with a process that hangs
          def trace(report)
            "kill -TTIN #{report["pid"]} on #{report["host"]} writes into the log where each thread is; then restart that process"
          end

          # @param reports [Array<Hash{String=>Object}>] see {Report}, also of other versions
          # @param before [Hash{String=>Hash}] by process its report before: a partition that catches up is less urgent
          # @return [Array<Item>] the worst first
          def of(reports, before: {}, limits: Limits::DEFAULT)
            list(reports.flat_map { |report| found(report, before[report["process"]], limits:) })
          end

          # Of one report, for {.list}: what has to be looked at once although it is listed often.
          # @param at [Float] when it was made, seconds since 1970
          # @return [Array<Item, Finding>]
          def found(report, before = nil, limits: Limits::DEFAULT, at: report["at"].to_f) = new(report, before, limits, at).found

          # @param found [Array<Item, Finding>] of one report
          # @return [Item, nil] one partition alone, in the same words; nil: it needs nobody
          def partition(found, group, topic, number, hidden: false)
            same = found.find { |one| one.is_a?(Finding) && one.of?(group, topic) && one.all.any? { |each| each.number == number } }
            one = same&.all&.find { |each| each.number == number } or return
            partitions([hidden ? one.hidden : one])
          end

          # Partitions with the same cause are one item, whichever processes have them.
          # @yield [topic] whether what may quote a message of a topic is left out; no block: it is not
          # @return [Array<Item>] the worst first
          def list(found)
            findings, items = found.partition { |one| one.is_a?(Finding) }
            findings.map! { |one| yield(one.topic["topic"]) ? one.hidden : one } if block_given?
            same = findings.group_by(&:identity).each_value
            (items + same.map { |some| partitions(some) }).sort_by.with_index { |item, index| [SEVERITIES.index(item.severity), index] }
          end

          # @return [Float, nil] of the memory that a process may have, the share that is used; nil: there is no limit, or it is not known
          def memory_share(report)
            used, limit = report.values_at("rss", "rss_limit")
            [used, *report["memory_used"]].max.fdiv(limit) if used && limit&.positive?
          end

          # @param limits [Limits] of its topic
          # @param catches_up [Boolean] whether the oldest message is less old than it was
          # @return [Symbol, nil] how much a partition needs a person; nil: not at all
          def severity(row, limits: Limits::DEFAULT, catches_up: false)
            age = Wording.age(row).to_f
            state = row["state"]
            return :note if NOTED.include?(state)
            return :bad if BAD.include?(state) || row["overdue"]
            # A filter delays them on purpose.
            return catches_up ? :warn : :bad if age > limits.very_old && state != "filter"
            return :note if state == "backoff" && row.dig("error", "now") && row["error"]["since"].to_f < BRIEF_SECONDS
            return :warn if RETRIED.include?(state) || row["without_progress"].to_f > limits.slow
            return catches_up ? :note : :warn if age > limits.old

            :note if row.dig("parked", "keys").to_i.positive? || row["isolating"]
          end

          # @param limits [Limits] of its topic
          # @return [String] what is the matter with a partition, in a word or two: a state that is as usual is not
          def label(row, limits: Limits::DEFAULT)
            return "outage" if row["state"] == "backoff" && row.dig("error", "now") && row.dig("error", "kind") == "outage"
            return Wording.state(row) unless USUAL.include?(row["state"])

            parked = row.dig("parked", "keys").to_i
            return parked == 1 ? "key parked" : "keys parked" if parked.positive?
            return row["state"] == "queued" ? "no free runner" : "hanging" if row["without_progress"].to_f > limits.slow
            return "not moving" if motionless?(row, limits)

            Wording.age(row).to_f > limits.old ? "behind" : Wording.state(row)
          end

          private

          def partitions(findings)
            worst = findings.max_by { |one| one.row["age"].to_f }
            all = findings.flat_map(&:all)
            numbers = all.map(&:number).sort
            runs = Printable.runs(numbers)
            group, topic = worst.topic.values_at("group", "topic")
            label = label(worst.row, limits: worst.limits)
            Item.new(severity: worst.severity, process: worst.report["process"], group:, topic:, partitions: numbers,
              place: numbers.one? ? "#{topic}/#{runs}" : "#{topic}, partitions #{runs}", label:,
              what: label, why: sentence(worst, several: !numbers.one?), help: help(worst),
              messages: all.sum { |one| one.row["lag"].to_i }, began: worst.began, error: worst.error)
          end

          def sentence(finding, several:)
            row = finding.row
            age = Wording.age(row)
            if age && age > finding.limits.old
              old = "the oldest message is #{Printable.duration(age)} old#{" and getting younger" if finding.catches_up}"
            end
            parts = [*Wording.why(row), *overdue(finding), *motionless(finding), *old].join("; ")
            return parts.empty? ? nil : parts unless several

            ["the worst is #{finding.topic["topic"]}/#{row["partition"]}", *(parts unless parts.empty?)].join(": ")
          end

          def overdue(finding)
            limit = finding.report["max_consume_time"]
            return unless finding.row["overdue"]

            "longer than max_consume_time allows#{" (#{Printable.duration(limit)})" if limit}, so the probe /live fails"
          end

          def motionless(finding)
            "no message of it is in memory or in work: none comes from the broker" if motionless?(finding.row, finding.limits)
          end

          # It has been there for long enough, and there is nothing that it waits for but the broker.
          def motionless?(row, limits)
            row["state"] == "waiting" && row["in_memory"].to_i.zero? && row["parked"].nil? && row["assigned"].to_f > limits.old &&
              Wording.age(row).to_f > limits.old
          end

          def help(finding)
            row = finding.row
            case row["state"]
            when "backoff", "keys" then help_with_error(finding.error, finding.topic)
            when "stalled" then help_with_stall(row["stalled"])
            when "blocked" then "make the topic that it sends to writable: it goes on by itself then"
            when "denied", *NOTED, "filter" then nil
            else help_with_work(finding)
            end
          end

          def help_with_error(error, topic)
            kind = error&.fetch("kind", nil)
            return "bring back what it cannot reach: it goes on by itself then" if kind == "outage"
            return "relieve the database: it goes on by itself then" if kind == "contention"
            return "correct what raises" unless kind == "counted"

            "correct the code, or the data it fails on#{fate(topic)}"
          end

          # What becomes of the message that fails.
          def fate(topic)
            return ": there is no dead letter queue, so the message is retried until it succeeds" unless topic.key?("max_retries")

            target = topic["dead_letter_topic"]
            "; after #{Printable.count(topic["max_retries"], "retry", "retries")} the message " \
              "#{target ? "goes to #{target}" : "is dropped"}"
          end

          def help_with_stall(stalled)
            return "nothing yet: it tries to help itself" unless stalled&.fetch("tried")&.include?("rejoin")

            "restart the process; if that does not help either, look at the broker that leads the partition (guildhall cluster)"
          end

          def help_with_work(finding)
            row = finding.row
            return help_with_error(finding.error, finding.topic) if finding.parked && finding.error
            if motionless?(row, finding.limits)
              return "wait: after two minutes without a message its process seeks, after four it rejoins its group; if no message " \
                     "has come after five, restart the process, #{finding.report["host"]}:#{finding.report["pid"]}"
            end
            return trace(finding.report) if row["without_progress"].to_f > finding.limits.slow && row["state"] != "queued"
            return unless Wording.age(row).to_f > finding.limits.old

            "start more processes, up to one for each partition, or find what makes consumers slow"
          end
        end

        # @param limits [Limits]
        # @param at [Float]
        def initialize(report, before, limits, at)
          @report = report
          @before = before
          @limits = limits
          @at = at
        end

        def found = @report["kind"] == "swarm" ? swarm : [*probes, *memory, *pool, *groups, *partitions]

        private

        def item(severity, place, label, what, help = nil)
          Item.new(severity:, process: @report["process"], place:, label:, what:, help:)
        end

        def host = "#{@report["host"]}:#{@report["pid"]}"

        def swarm
          @report["processes"].filter_map do |one|
            place = "process #{one["number"]} of the swarm #{host}"
            next item(:bad, place, "not running", "does not run#{": #{one["ended"]}" if one["ended"]}") unless one["pid"]

            item(:note, place, "started again", "was started again: the one before has ended with #{one["ended"]}") if one["ended"]
          end
        end

        def probes
          problems = [*@report["live"], *@report["ready"]].uniq.reject { |one| SAID.include?(one["code"]) }
          problems.map { |one| item(severity_of(one), host, LABELS.fetch(one["code"], "unhealthy"), said(one), help(one)) }
        end

        def severity_of(problem)
          return :bad if @report["live"]&.include?(problem)

          problem["code"] == "draining" ? :note : :warn
        end

        def said(problem)
          return problem["text"] unless problem["code"] == "draining"

          @report["state"] == "quiet" ? "quiet: it begins no new work until the signal CONT" : "is being stopped"
        end

        def help(problem)
          case problem["code"]
          when "no_broker" then "nothing here: it goes on by itself once they answer; guildhall check finds out what is wrong"
          when "not_polled" then self.class.trace(@report)
          end
        end

        def memory
          share = self.class.memory_share(@report)
          return [] unless share && share >= @limits.memory

          limit = @report["rss_limit"]
          [item(share >= FULL ? :bad : :warn, host, "memory",
            "#{(limit * share).round / 1_048_576} of #{limit / 1_048_576} MiB of memory are used (#{(share * 100).floor} %): at the " \
            "limit the system kills the process",
            "restart it before that happens; then find what makes its memory grow, or raise its limit")]
        end

        def pool
          return [] unless @report.dig("pool", "breaker_open")

          [item(:bad, host, "pool", "the pool's workers have died too often: for some seconds consumers decode themselves",
            "the log says why they died")]
        end

        def groups
          (@report["groups"] || []).flat_map do |group|
            group["members"].filter_map do |member|
              error = member["commit_error"] or next
              all = member["commits"] + member["failed_commits"]
              item(:warn, "group #{group["group"]}", "commits", "the last commit has failed (#{error}), #{member["failed_commits"]} of " \
                                                                "#{all} by this member: messages may come again")
            end
          end
        end

        def partitions
          (@report["topics"] || []).flat_map do |topic|
            limits = @limits.of(topic["topic"])
            rows = (topic["partitions"] || []).select { |row| self.class.severity(row, limits:) }
            before = rows.any? ? rows_before(topic) : {}
            found = rows.map { |row| finding(topic, row, catches_up?(row, before[row["partition"]]), limits) }
            found.group_by(&:identity).each_value.map { |some| together(some) }
          end
        end

        def finding(topic, row, catches_up, limits)
          Finding.new(severity: self.class.severity(row, limits:, catches_up:), report: @report, at: @at, topic:, row:, catches_up:,
            limits:, same: nil)
        end

        def together(findings)
          findings.max_by { |one| one.row["age"].to_f }.with(same: findings)
        end

        # @return [Hash{Integer=>Hash}]
        def rows_before(topic)
          same = (@before&.fetch("topics", nil) || []).find { |one| one.values_at("group", "topic") == topic.values_at("group", "topic") }
          (same&.fetch("partitions", nil) || []).to_h { |row| [row["partition"], row] }
        end

        def catches_up?(row, before)
          age = Wording.age(row)
          earlier = before && Wording.age(before)
          !age.nil? && !earlier.nil? && age < earlier
        end
      end
    end
  end
end
