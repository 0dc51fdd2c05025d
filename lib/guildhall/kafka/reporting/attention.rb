# frozen_string_literal: true

require "guildhall/printable"
require_relative "wording"

module Guildhall
  module Kafka
    module Reporting
      # What of some reports needs a person: a fixed list of rules, each of which says where, what, for how long, why, and what helps.
      # The same cause in several partitions of a topic is said once.
      class Attention
        # Something that needs a person. severity: :bad (messages wait, or a process will be lost), :warn (it may pass by itself) or
        # :note (worth knowing); process: the report's name of it; place: where, for people; text: the sentence.
        Item = Data.define(:severity, :process, :place, :text)
        SEVERITIES = %i[bad warn note].freeze
        OLD_SECONDS = 60 # of the oldest message that is not done
        VERY_OLD_SECONDS = 300
        SLOW_SECONDS = 60 # of a call of a consumer
        MEMORY_SHARE = 0.95
        BAD = %w[denied stalled blocked].freeze
        NOTED = %w[paused quiet].freeze
        private_constant :BAD, :NOTED

        # @param reports [Array<Hash{String=>Object}>] see {Report}, also of other versions
        # @return [Array<Item>] the worst first
        def self.of(reports)
          items = reports.flat_map { |report| new(report).items }
          items.sort_by.with_index { |item, index| [SEVERITIES.index(item.severity), index] }
        end

        # @return [Symbol, nil] how much a partition needs a person; nil: not at all
        def self.severity(row)
          age = Wording.age(row).to_f
          return :note if NOTED.include?(row["state"])
          return :bad if BAD.include?(row["state"]) || (age > VERY_OLD_SECONDS && row["state"] != "filter") # which delays them on purpose
          return :warn if %w[backoff keys].include?(row["state"]) || age > OLD_SECONDS || row["without_progress"].to_f > SLOW_SECONDS

          :note if row.dig("parked", "keys").to_i.positive? || row["isolating"]
        end

        def initialize(report)
          @report = report
        end

        def items = @report["kind"] == "swarm" ? swarm : [*probes, *memory, *pool, *groups, *partitions]

        private

        def item(severity, place, text) = Item.new(severity:, process: @report["process"], place:, text:)

        def host = "#{@report["host"]}:#{@report["pid"]}"

        def swarm
          @report["processes"].filter_map do |one|
            place = "process #{one["number"]} of the swarm #{host}"
            next item(:bad, place, "it does not run#{": #{one["ended"]}" if one["ended"]}") unless one["pid"]

            item(:note, place, "it was started again, the one before has ended: #{one["ended"]}") if one["ended"]
          end
        end

        # Partitions have sentences of their own, which say more.
        def probes
          problems = [*@report["live"], *@report["ready"]].reject { |one| one["code"] == "stalled" }
          problems.uniq.map { |one| item(@report["live"]&.include?(one) ? :bad : severity_of(one), host, said(one)) }
        end

        def severity_of(problem) = problem["code"] == "draining" ? :note : :warn

        def said(problem)
          case problem["code"]
          when "no_broker" then "#{problem["text"]}: consuming goes on by itself once they do; guildhall check finds out what is wrong"
          when "draining" then @report["state"] == "quiet" ? "quiet: no new work is begun, CONT ends that" : "it is being stopped"
          when "overdue" then "#{problem["text"]}: kill -TTIN #{@report["pid"]} prints where; who asks /live restarts the process"
          else problem["text"]
          end
        end

        def memory
          used, limit = @report.values_at("rss", "rss_limit")
          return [] unless used && limit && used > limit * MEMORY_SHARE

          [item(:bad, host, "#{used / 1_048_576} of #{limit / 1_048_576} MiB of memory are used: beyond that the system kills the process")]
        end

        def pool
          return [] unless @report.dig("pool", "breaker_open")

          [item(:bad, host, "the pool's workers have died too often: for some seconds consumers decode themselves; the log says why")]
        end

        def groups
          (@report["groups"] || []).flat_map do |group|
            group["members"].filter_map do |member|
              error = member["commit_error"] or next
              all = member["commits"] + member["failed_commits"]
              item(:warn, "group #{group["group"]}", "the last commit has failed (#{error}), #{member["failed_commits"]} of #{all} by " \
                                                     "this member: messages may come again")
            end
          end
        end

        def partitions
          (@report["topics"] || []).flat_map do |topic|
            found = topic["partitions"].filter_map { |row| (severity = self.class.severity(row)) && [severity, row] }
            found.group_by { |severity, row| [severity, row["state"], cause(row)] }
              .map { |(severity, *), some| partition(topic, severity, some.map(&:last)) }
          end
        end

        def cause(row) = row.dig("error", "now") && row["error"].values_at("error_class", "place", "kind")

        # @param rows [Array<Hash>] with the same cause
        def partition(topic, severity, rows)
          worst = rows.max_by { |row| row["age"].to_f }
          numbers = Printable.runs(rows.map { |row| row["partition"] })
          place = rows.one? ? "#{topic["topic"]}/#{numbers}" : "#{topic["topic"]}, partitions #{numbers}"
          example = "for example #{topic["topic"]}/#{worst["partition"]}: " unless rows.one?
          item(severity, place, "#{example}#{sentence(worst, topic)}")
        end

        def sentence(row, topic)
          age = Wording.age(row)
          old = "the oldest message is #{Wording.duration(age)} old" if age && age > OLD_SECONDS
          [Wording.state(row), *Wording.why(row), *old, *outcome(row, topic)].join(", ")
        end

        # What becomes of the message that fails.
        def outcome(row, topic)
          error = row["error"]
          return unless error && error["now"] && error["kind"] == "counted" && row["state"] == "backoff"
          return "there is no dead letter queue: it is repeated until that works" unless topic.key?("max_retries")

          "it is given up after #{Printable.count(topic["max_retries"], "retry").sub("retrys", "retries")}" \
            "#{", and goes to #{topic["dead_letter_topic"]}" if topic["dead_letter_topic"]}"
        end
      end
    end
  end
end
