# frozen_string_literal: true

require "guildhall/printable"
require "guildhall/version"

module Guildhall
  class Web
    class Reports
      # What needs a person, by several reports: rules as those of {Kafka::Reporting::Attention} are for one.
      class Rules
        Item = Kafka::Reporting::Attention::Item
        HOUR = 3_600
        REBALANCES_SECONDS = 600
        TOGETHER_SECONDS = 15 # between what is taken and what is given in one rebalance
        FULL = 0.9 # of the memory that a process may have: it has grown since its last report
        REPORT_SECONDS = 15 # between two reports, and a little more
        MANY = 5 # lines of one rule
        private_constant :Item, :HOUR, :REBALANCES_SECONDS, :TOGETHER_SECONDS, :FULL, :REPORT_SECONDS, :MANY

        # @param view [View]
        def initialize(view) = @view = view

        # @param said [Array<String>] fingerprints of causes that others name already
        # @return [Array<Kafka::Reporting::Attention::Item>]
        def items(said = [])
          letters = dead_letters
          said += letters.filter_map { |_, cause| cause&.fingerprint }
          [*lost, *late, *failed, *rebalances, *letters.map(&:first), *failing(said), *stalled, *tasks, *versions]
        end

        private

        def item(severity, label, place, what, why = nil, **more) = Item.new(severity:, label:, place:, what:, why:, process: nil, **more)
        def ago(time) = [@view.now - time, 0.0].max
        def recent?(time) = ago(time) < HOUR
        def clock(time) = "#{Time.at(time).utc.strftime("%H:%M:%S")} UTC"

        def lost
          found = @view.lost.select { |last| recent?(last.at) }
          return [silence(found)] if found.size > 1 && @view.live.empty?

          items = found.first(MANY).map { |last| one_lost(last) }
          rest = found.size - items.size
          items << item(:bad, "lost", Printable.count(rest, "more process", "more processes"), "do not report any more") if rest.positive?
          items
        end

        def silence(found)
          began = found.map(&:at).max
          item(:bad, "silence", "All #{found.size} processes", "have not reported since #{clock(began)}",
            "all have ended at once, or the brokers do not take reports",
            help: "look whether they run; guildhall check finds out what is wrong with the brokers", began:)
        end

        def one_lost(last)
          unheld = @view.unheld(last)
          item(unheld.any? ? :bad : :warn, "lost", last.short, "has not reported since #{clock(last.at)}",
            [*(killed(last) || ended(last)), had(last), taken(last, unheld)].join("; "), help: help_with_lost(last),
            began: last.at, process: last.name)
        end

        def help_with_lost(last)
          start = "start it again, unless something else has" if last.partitions.positive?
          parts = [*start, *("raise its memory limit, or find what makes its memory grow" if killed(last))]
          parts.join("; ") unless parts.empty?
        end

        # Everything that pages say of it is from then.
        def late
          @view.live.select { |last| last.late?(@view.now) }.first(MANY).map do |last|
            item(:warn, "silent", last.short, "has not reported since #{clock(last.at)}",
              "#{had(last)}; this page shows what it did then. Without a report for #{LOST_SECONDS} s it counts as lost",
              began: last.at, process: last.name)
          end
        end

        def had(last)
          used, limit = last.report.values_at("rss", "rss_limit")
          growth = @view.growth(last.name)
          growing = ", which grew by #{(growth / 1_048_576).round} MiB a minute" if growth && growth > 1_048_576
          memory = " and #{used / 1_048_576}#{" of #{limit / 1_048_576}" if limit} MiB of memory#{growing}" if used
          "it had #{partitions(last)}#{memory}"
        end

        def partitions(last)
          topics = (last.report["topics"] || []).select { |topic| topic["partitions"].any? }
          some = topics.first(3).map { |topic| "#{topic["topic"]}/#{Printable.runs(topic["partitions"].map { |row| row["partition"] })}" }
          some << "those of #{topics.size - 3} topics more" if topics.size > 3
          some.empty? ? "no partition" : some.join(", ")
        end

        # What another process of its swarm says.
        def ended(last)
          place = last.report.values_at("host", "pid")
          event = @view.events.reverse_each.find { |one| one.name == "process_ended" && one.record.values_at("host", "pid") == place }
          event&.text
        end

        def killed(last)
          share = Kafka::Reporting::Attention.memory_share(last.report) or return
          grown = [@view.growth(last.name).to_f, 0].max * REPORT_SECONDS / 60 / last.report["rss_limit"]
          "the system has probably killed it for its memory#{" (#{ended(last)})" if ended(last)}" if share + grown > FULL
        end

        def taken(last, unheld)
          return "nothing waits for it" if last.partitions.zero?
          return "other processes have its partitions by now#{waited(last)}" if unheld.empty?

          some = unheld.first(3).map { |topic, number| "#{topic}/#{number}" }
          more = ", and #{unheld.size - some.size} more" if unheld.size > some.size
          "no process that reports has #{some.join(", ")}#{more} now"
        end

        # For how long some had no process.
        def waited(last)
          taken = (last.report["topics"] || []).flat_map do |topic|
            numbers = topic["partitions"].map { |row| row["partition"] }
            rows = numbers.empty? ? [] : @view.rows(topic["group"], topic["topic"])
            rows.filter_map { |one| one.last.at - one.row["assigned"] if numbers.include?(one.row["partition"]) && one.row["assigned"] }
          end.max
          ", since #{clock(taken)}: #{Printable.duration(taken - last.at)} after its last report" if taken && taken > last.at
        end

        def failed
          @view.processes.select { |last| last.report["state"] == "failed" && recent?(last.at) }.first(MANY).map do |last|
            item(:bad, "failed", last.short, "has failed for good#{": #{last.report["failure"]}" if last.report["failure"]}",
              "it ended by itself", help: "whatever started it should start it again", began: last.at, process: last.name)
          end
        end

        # Those that stand still again, or are behind, say so themselves.
        def stalled
          @view.background.stalls.filter_map do |(group, topic, number), events|
            row = @view.row(group, topic, number)&.row
            next if row.nil? || %i[bad warn].include?(Kafka::Reporting::Attention.severity(row, limits: @view.limits.of(topic)))

            item(:warn, "has stalled", "#{topic}/#{number}", "stood still, and has moved on", @view.background.of_stalls(events),
              began: events.first.at, help: "nothing yet; if it stalls again, look at the broker that leads it (guildhall cluster)")
          end.first(MANY)
        end

        def rebalances
          recent = @view.events.select { |event| event.name == "rebalanced" && ago(event.at) < REBALANCES_SECONDS && event.record["group"] }
          recent.group_by { |event| event.record["group"] }.filter_map do |group, events|
            times = events.group_by { |event| event.record["process"] }.values.map { |some| rebalances_of(some) }.max
            next unless times > @view.limits.rebalances

            item(:warn, "rebalances", "group #{group}", "has rebalanced #{times} times in #{REBALANCES_SECONDS / 60} minutes",
              "each time its partitions change hands, and stand still for a moment",
              help: "see under What changed which processes start and end", group:, began: events.first.at)
          end
        end

        # A process says what is taken from it, and what it gets.
        def rebalances_of(events) = events.map(&:at).slice_when { |before, after| after - before > TOGETHER_SECONDS }.count

        # @return [Array<Array(Kafka::Reporting::Attention::Item, Cause)>] each with its most frequent cause, nil: none is known
        def dead_letters
          found = @view.dead.select { |_, (count, *)| count >= @view.limits.dead_letters }
          found.sort_by { |_, (count, *)| -count }.first(MANY).map do |(group, topic), (count, first, last)|
            cause = most_frequent(group, topic)
            began = cause ? [cause.first, @view.now - HOUR].max : first
            moment = ago(last) < 2 ? "just now" : "#{Printable.duration(ago(last).round)} ago"
            taken = "took #{Printable.count(count.to_i, "message")} of #{topic} in the last hour, the last #{moment}"
            [item(getting_worse?(cause) ? :bad : :warn, "dead letters", queue(group, topic) || topic, taken, (of_cause(cause) if cause),
              help: help_with(cause, "then replay the dead letters"), began:, group:, topic: queue(group, topic),
              error: (as_error(cause) if cause)), cause]
          end
        end

        def queue(group, topic)
          @view.live.lazy.flat_map { |last| last.report["topics"] || [] }
            .find { |one| one["topic"] == topic && one["group"] == group }&.fetch("dead_letter_topic", nil)
        end

        def most_frequent(group, topic)
          since = @view.now - HOUR
          @view.causes.reject(&:outage?).select { |one| one.places.include?([group, topic]) }.max_by { |one| one.since(since) }
        end

        # Each minute that a bad release runs costs more messages.
        def getting_worse?(cause) = !@view.background.release(cause).nil? && cause.recent(@view.now).positive?

        def of_cause(cause)
          count = cause.since(@view.now - HOUR)
          times = cause.record["topic"] ? "by #{Printable.count(count, "attempt")}" : Printable.count(count, "time")
          ["#{Kafka::Reporting::Wording.named(as_error(cause))}, raised #{times} in the last hour",
           *@view.background.of_cause(cause)].join("; ")
        end

        def help_with(cause, rest = nil)
          release = @view.background.release(cause)
          ["#{"go back to release #{release.before}, or " if release}correct the error", *rest].join(", ")
        end

        # Errors that no partition waits for now, and no dead letter has: what was retried has worked, or will be dead-lettered.
        def failing(said)
          causes = @view.causes.select { |cause| !cause.outage? && !said.include?(cause.fingerprint) && failing?(cause) }
          causes.sort_by { |cause| -cause.recent(@view.now) }.first(MANY).map do |cause|
            item(:warn, "errors", places(cause), "#{Printable.count(cause.recent(@view.now), "error")} in the last ten minutes",
              of_cause(cause), help: help_with(cause), began: cause.first, error: as_error(cause))
          end
        end

        # A new release is looked at from its first error on.
        def failing?(cause)
          count = cause.recent(@view.now)
          count >= @view.limits.errors || (count.positive? && !@view.background.release(cause).nil?)
        end

        def places(cause)
          names = cause.places.map { |group, topic| topic || group }.uniq.first(3)
          names.empty? ? "the application" : names.join(", ")
        end

        # As states have one; its message may quote a payload, and is shown by pages to who may see those.
        def as_error(cause) = {"error_class" => cause.record["class"], "place" => cause.record["place"]}

        def tasks
          found = @view.events.select { |event| event.name == "task_failed" && recent?(event.at) }
          found.reverse.uniq(&:text).first(MANY).map do |event|
            item(:warn, "task failed", "Schedule:", event.text, began: event.at, group: event.record["group"])
          end
        end

        # Readers know the fields of theirs only.
        def versions
          others = @view.tally("guildhall").except(Guildhall::VERSION)
          return [] if others.empty?

          said = others.sort.map { |version, count| "#{version} in #{Printable.count(count, "process", "processes")}" }.join(", ")
          [item(:note, "versions", "Guildhall", "#{said}, #{Guildhall::VERSION} here", "the page shows what both know")]
        end
      end
    end
  end
end
