# frozen_string_literal: true

require "guildhall/printable"

module Guildhall
  module Kafka
    # The state of a running application: as data, and in words for people.
    module Reporting
      # Words for what a report has of a partition ({Partition::Snapshot#data}), which may come from another process, of another version.
      # @api private
      module Wording
        # The states of partitions, what matters most first.
        STATES = {
          "left" => "given up", "leaving" => "being given up", "denied" => "not allowed", "stalled" => "stalled", "blocked" => "blocked",
          "seeking" => "seeking", "backoff" => "backing off", "keys" => "too many keys parked", "paused" => "paused",
          "filter" => "postponed", "quiet" => "quiet", "sending" => "sending", "working" => "working", "queued" => "queued",
          "waiting" => "waiting"
        }.freeze
        # What an error's kind means; nothing is to be said of one that counts against the retries.
        KINDS = {
          "outage" => "counts as an outage: the message is retried until it succeeds, and does not become a dead letter",
          "contention" => "counts as an overloaded database: the message is retried until it succeeds, and does not become a dead letter",
          "not_called" => "raised before consume was called"
        }.freeze
        TRIED = {"seek" => "a seek", "rejoin" => "rejoining the group"}.freeze
        MAX_KEYS = 3 # named in a sentence
        BUSY_SECONDS = 10 # without progress, from which it is said
        private_constant :KINDS, :TRIED, :MAX_KEYS

        class << self
          def state(row) = STATES.fetch(row["state"]) { row["state"].to_s }

          # @return [String] what it does, how far it is done, and why
          def partition(row)
            [state(row), "#{Printable.count(row["in_memory"].to_i, "message")} in memory", "first not done: #{row["position"] || "?"}",
             "attempt #{row["attempt"]}", *why(row)].join("; ")
          end

          # @return [Float, nil] the age of the oldest message that is not done; nil: there is none, or it is not known
          def age(row) = (row["age"] unless row["lag"]&.zero?)

          # @return [Float, nil] for how many seconds it has been as it is; nil: that is not known
          def since(row)
            now = row["error"] if row.dig("error", "now")
            rests = (row["rests"] || {}).values.filter_map { |rest| rest["since"] }
            row.dig("stalled", "since") || now&.fetch("since", nil) || rests.max || row["without_progress"] || age(row)
          end

          # @return [Array<String>] clauses: why it is in this state, and what else is out of the ordinary; what a broker says of another
          #   topic comes last, for that may be long
          def why(row)
            [*row["denied"], *stalled(row), *error(row["error"]), *rests(row), *searches(row), *keys(row), *transaction(row), *busy(row),
             *row["blocked"]]
          end

          # @return [String] {.why} as one sentence
          def because(row) = why(row).join("; ")

          # @return [String, nil] nil: there is none, or its message is done
          def error(error)
            return unless error && error["now"]

            failures = error["failures"].to_i
            times = "#{Printable.count(failures, "attempt")} failed#{" in #{Printable.duration(error["since"])}" if failures > 1}"
            ["#{named(error)}, #{times}", *KINDS[error["kind"]]].join("; ")
          end

          # @param error [Hash] of a row
          # @return [String] which error it is, and where in the code it was raised
          def named(error)
            place = line(error["place"])
            "#{error.values_at("error_class", "message").compact.join(": ")}#{" (#{place})" if place}"
          end

          # @param actions [Array<String>] against a stall
          # @return [String, nil] nil: there were none
          def tried(actions) = (actions.uniq.map { |one| TRIED.fetch(one, one) }.join(" and ") if actions.any?)

          # @param place [String, nil] in the code
          # @return [String, nil] FILE:LINE of it, without the method
          def line(place) = place && (place[/\A.*?:\d+/] || place)

          # @return [Hash] the same partition without what may quote a message: messages of errors, and names of keys
          def hidden(row)
            parked = row["parked"]
            oldest = parked&.fetch("oldest", nil)&.map do |one|
              {**one, "key" => "(hidden)", "error" => one["error"]&.except("message")}.compact
            end
            {**row, "error" => row["error"]&.except("message"), "parked" => oldest ? {**parked, "oldest" => oldest} : parked}.compact
          end

          private

          def stalled(row)
            stalled = row["stalled"] or return
            tried = tried(stalled["tried"])
            lasted = Printable.duration(stalled["since"])
            ["no message has come from offset #{stalled["position"] || "?"} on for #{lasted}, although there are more",
             *("it has tried #{tried}" if tried)].join("; ")
          end

          def rests(row)
            (row["rests"] || {}).filter_map { |reason, rest| rest(reason, rest, row) }
          end

          def rest(reason, rest, row)
            left = rest["left"] ? "for #{Printable.duration(rest["left"])} more" : "until that is ended"
            case reason
            when "backoff" then "next attempt in #{Printable.duration(rest["left"].to_f)}#{of_message(row)}"
            when "keys" then "no more keys may be parked, so it has stopped for #{Printable.duration(rest["since"])}"
            when "user" then "by its consumer, #{left}"
            when "command" then "by command, #{left}"
            when "filter" then "a filter delays the next message, #{left}"
            when "quiet" then "the application is quiet: the signal CONT ends that"
            else "waits for the brokers to take what it sends, for #{Printable.duration(rest["since"])}" unless row["blocked"]
            end
          end

          def of_message(row)
            offset = row.dig("error", "offset")
            offset && row.dig("error", "now") ? ", from offset #{offset}" : ""
          end

          def searches(row)
            first, last = row["isolating"]
            first && "searching for the message that fails, #{last ? "between offsets #{first} and #{last}" : "from offset #{first} on"}"
          end

          def keys(row)
            parked = row["parked"]
            return unless parked && parked["keys"].positive?

            oldest = (parked["oldest"] || []).first(MAX_KEYS)
            errors = oldest.filter_map { |one| error(one["error"]) }.uniq
            return [one_key(oldest.first, parked["messages"]), *errors].join("; ") if parked["keys"] == 1 && oldest.any?

            named = oldest.map { |one| key(one, said: errors.one?) }
            more = "and #{parked["keys"] - named.size} more" if parked["keys"] > named.size
            what = "#{Printable.count(parked["keys"], "key")} with #{Printable.count(parked["messages"], "message")}"
            ["#{what} are parked, other keys go on: #{[*named, *more].join(", ")}", *(errors.first if errors.one?)].join("; ")
          end

          def one_key(one, messages)
            count = Printable.count(messages, "message")
            what = one["key"] ? "key #{one["key"]} is parked with #{count}" : "what has no key is parked, #{count}"
            "#{what}, from offset #{one["offset"]} on; other keys go on" \
              "#{"; next attempt in #{Printable.duration(one["left"])}" if one["left"]&.positive?}"
          end

          # @param said [Boolean] whether its error, the same for all, is said elsewhere
          def key(one, said:)
            soon = ", next attempt in #{Printable.duration(one["left"])}" if one["left"]&.positive?
            error = error(one["error"]) unless said
            "#{one["key"] || "without a key"} (offset #{one["offset"]}#{soon}#{", #{error}" if error})"
          end

          def transaction(row)
            open = row.dig("transaction", "open")
            open && "a transaction has been open for #{Printable.duration(open)}"
          end

          def busy(row)
            seconds = row["without_progress"]
            return unless seconds && seconds >= BUSY_SECONDS

            lasted = Printable.duration(seconds)
            return "all runners are busy, it has waited for #{lasted}" if row["state"] == "queued"

            "its consumer has not finished a message for #{lasted}#{", at offset #{row["position"]}" if row["position"]}" \
              "#{"; it is at #{row["working_at"]} now" if row["working_at"]}"
          end
        end
      end
    end
  end
end
