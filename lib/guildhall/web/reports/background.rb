# frozen_string_literal: true

require "guildhall/printable"

module Guildhall
  class Web
    class Reports
      # What reports of other times and processes say of something that needs a person: the release that an error began with, and what came
      # before a partition has stalled.
      class Background
        STALLED_SECONDS = 600 # a partition that has stalled lately may do so again
        BEFORE_SECONDS = 600 # a rebalance or an error no longer than that before a stall may have to do with it
        SOON_SECONDS = 10
        private_constant :STALLED_SECONDS, :BEFORE_SECONDS, :SOON_SECONDS

        # That a cause began with: its name, when it was started first, and the one that ran before without that error.
        Release = Data.define(:name, :started, :before)

        # @param view [View]
        def initialize(view) = @view = view

        # @param item [Kafka::Reporting::Attention::Item] of partitions
        # @return [String, nil]
        def of(item)
          said = item.label == "stalled" ? before_stall(item) : [*of_cause(@view.cause_of(item.error)), *stalled_before(item)]
          said.join("; ") unless said.empty?
        end

        # @return [Hash{Array(String, String, Integer)=>Array<Store::Event>}] by group, topic and partition, those of the last ten
        #   minutes that say that it has stalled
        def stalls
          @stalls ||= @view.events.select { |event| event.name == "stalled" && @view.now - event.at < STALLED_SECONDS }
            .group_by { |event| event.record.values_at("group", "topic", "partition") }
        end

        # @param events [Array<Store::Event>] of one partition
        # @return [String]
        def of_stalls(events)
          first = events.first
          tried = Kafka::Reporting::Wording.tried(events.filter_map { |event| event.record["action"] })
          "it stalled at offset #{first.record["position"]} #{Printable.duration((@view.now - first.at).round)} ago" \
            "#{", and moved on after #{tried}" if tried}"
        end

        # @param cause [Cause, nil]
        # @return [String, nil] the release that it began with
        def of_cause(cause)
          release = release(cause) or return
          after = cause.first - release.started
          soon = after < SOON_SECONDS ? "as soon as that was started" : "#{Printable.duration(after.round)} after its start"
          "began with release #{release.name}, #{soon}; release #{release.before} before it did not have this error"
        end

        # @param cause [Cause, nil]
        # @return [Release, nil] nil: the error has come before, or there is no release before
        def release(cause)
          started = cause && releases[cause.release] or return
          before, = releases.select { |_, at| at < started }.max_by(&:last)
          Release.new(cause.release, started, before) unless before.nil? || cause.releases.include?(before)
        end

        private

        # Also those of which no process is left.
        # @return [Hash{String=>Float}] when each was started first
        def releases
          @releases ||= begin
            started = @view.events.select { |event| event.name == "started" }.map { |event| [event.record["release"], event.at] } +
                      @view.processes.map { |last| last.report.values_at("release", "started") }
            started.select(&:all?).group_by(&:first).transform_values { |pairs| pairs.map(&:last).min }
          end
        end

        def stalled_before(item)
          events = item.partitions.lazy.map { |number| stalls[[item.group, item.topic, number]] }.find(&:itself)
          events && of_stalls(events)
        end

        # @return [Array<String>]
        def before_stall(item)
          [*rebalance(item.group, item.began || @view.now),
           error(item.group, item.topic, item.partitions.first) || "no error was reported there"]
        end

        def rebalance(group, from)
          event = @view.events.reverse_each.find do |one|
            %w[rebalanced lost].include?(one.name) && one.record["group"] == group && one.at.between?(from - BEFORE_SECONDS, from)
          end
          event && "its group had rebalanced #{Printable.duration((from - event.at).round)} before"
        end

        # As its process has it, or as the last records of errors do.
        def error(group, topic, number)
          last = @view.row(group, topic, number)&.row&.fetch("error", nil)
          return "its last error: #{of_row(last)}" if last

          cause = @view.causes.find { |one| sample(one, topic, number) } or return
          found = sample(cause, topic, number)
          "its last error: #{cause.record["class"]}, at offset #{found.offset}, #{Printable.duration((@view.now - found.at).round)} ago"
        end

        def sample(cause, topic, number) = cause.samples.find { |one| one.topic == topic && one.partition == number }

        def of_row(error)
          [error["error_class"], *("at offset #{error["offset"]}" if error["offset"]),
           *(Printable.count(error["failures"], "attempt") if error["failures"]),
           *("#{Printable.duration(error["last"])} ago" if error["last"])].join(", ")
        end
      end
    end
  end
end
