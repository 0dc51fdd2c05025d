# frozen_string_literal: true

require "guildhall/printable"

module Guildhall
  module Kafka
    # The state of a running application: as data, and in words for people.
    module Reporting
      # Words for what a report has of a partition ({Partition::Snapshot#data}), which may come from another process, of another version.
      module Wording
        # The states of partitions, what matters most first.
        STATES = {
          "left" => "given up", "leaving" => "being given up", "denied" => "not allowed", "stalled" => "stalled", "blocked" => "blocked",
          "seeking" => "seeking", "backoff" => "backing off", "keys" => "keys full", "paused" => "paused", "filter" => "postponed",
          "quiet" => "quiet", "sending" => "sending", "working" => "working", "queued" => "queued",
          "waiting" => "waiting"
        }.freeze
        KINDS = {
          "outage" => "an outage: repeated for as long as it lasts, nothing is dead-lettered",
          "contention" => "an overloaded database: repeated for as long as it lasts, nothing is dead-lettered",
          "not_called" => "consume was not called", "counted" => "counts as an attempt"
        }.freeze
        TRIED = {"seek" => "a seek was tried", "rejoin" => "the group is rejoined"}.freeze
        MAX_KEYS = 3 # named in a sentence
        private_constant :KINDS, :TRIED, :MAX_KEYS

        class << self
          def state(row) = STATES.fetch(row["state"]) { row["state"].to_s }

          # @return [String] what it does, how far it is done, and why
          def partition(row)
            [state(row), "#{Printable.count(row["in_memory"].to_i, "message")} in memory", "done up to #{row["position"] || "?"}",
             "attempt #{row["attempt"]}", *why(row)].join(", ")
          end

          # @return [Float, nil] the age of the oldest message that is not done; nil: there is none, or it is not known
          def age(row) = (row["age"] unless row["lag"]&.zero?)

          # @return [Array<String>] parts of a sentence: why it is in this state, and what else is out of the ordinary; what a broker says
          #   of another topic comes last, for that may be long
          def why(row)
            [*row["denied"], *stalled(row), *rests(row), *searches(row), *error(row["error"]), *keys(row), *transaction(row), *busy(row),
             *row["blocked"]]
          end

          # @return [String] such as "2m10s"
          def duration(seconds)
            case seconds
            when ...10 then format("%.1f s", seconds)
            when ...60 then format("%.0f s", seconds)
            when ...3_600 then format("%dm%02ds", *seconds.round.divmod(60))
            when ...86_400 then format("%dh%02dm", *(seconds / 60).round.divmod(60))
            else format("%dd%02dh", *(seconds / 3_600).round.divmod(24))
            end
          end

          # @return [String, nil] nil: there is none, or its message is done
          def error(error)
            return unless error && error["now"]

            times = ", #{error["failures"]} times for #{duration(error["since"])}" if error["failures"].to_i > 1
            ["#{error["error_class"]}: #{error["message"]}", *("at #{error["place"]}" if error["place"]),
             "(#{KINDS.fetch(error["kind"], error["kind"])}#{times})"].join(" ")
          end

          private

          def stalled(row)
            stalled = row["stalled"] or return
            "at offset #{stalled["position"] || "?"} for #{duration(stalled["since"])} although there is more to read: " \
              "#{stalled["tried"].map { |one| TRIED.fetch(one, one) }.uniq.join(", then ")}"
          end

          def rests(row)
            (row["rests"] || {}).filter_map { |reason, rest| rest(reason, rest, row) }
          end

          def rest(reason, rest, row)
            left = rest["left"] ? "for #{duration(rest["left"])} more" : "until it is resumed"
            case reason
            when "backoff" then "the next attempt comes in #{duration(rest["left"].to_f)}#{of_message(row)}"
            when "keys" then "the limit of parked keys is reached, for #{duration(rest["since"])}"
            when "user" then "as its consumer wants, #{left}"
            when "filter" then "a filter postpones the next message #{left}"
            when "quiet" then "the application is quiet: CONT ends that"
            else "waits until the brokers have what it sends, for #{duration(rest["since"])}" unless row["blocked"]
            end
          end

          def of_message(row)
            offset = row.dig("error", "offset")
            offset && row.dig("error", "now") ? ", at offset #{offset}" : ""
          end

          def searches(row)
            first, last = row["isolating"]
            first && "the message that fails is looked for#{last ? " between offsets #{first} and #{last}" : ", from offset #{first} on"}"
          end

          def keys(row)
            parked = row["parked"]
            return unless parked && parked["keys"].positive?

            named = (parked["oldest"] || []).first(MAX_KEYS).map { |one| key(one) }
            more = "and #{parked["keys"] - named.size} more" if parked["keys"] > named.size
            "#{Printable.count(parked["keys"], "key")} parked with #{Printable.count(parked["messages"], "message")}: " \
              "#{[*named, *more].join("; ")}"
          end

          def key(one)
            soon = " in #{duration(one["left"])}" if one["left"]&.positive?
            ["#{one["key"] || "(no key)"} at offset #{one["offset"]}, attempt #{one["attempt"]}#{soon}", *error(one["error"])].join(", ")
          end

          def transaction(row)
            open = row.dig("transaction", "open")
            open && "a transaction is open for #{duration(open)}"
          end

          def busy(row)
            seconds = row["without_progress"]
            return unless seconds && seconds >= 10
            return "waits for a runner for #{duration(seconds)}: all are busy" if row["state"] == "queued"

            "at work for #{duration(seconds)} without progress"
          end
        end
      end
    end
  end
end
