# frozen_string_literal: true

require "guildhall/printable"

module Guildhall
  class Web
    class Reports
      # What of a record is kept: fields that pages know, of the types that they count on. All else is left out: what other versions add,
      # and what somebody has written who may write to the topic.
      module Schema
        NAME = :name # a String that is not empty
        TEXT = :text # a String for people
        NUMBER = :number
        COUNT = :count # an Integer
        FLAG = :flag
        MAX_NAME = 300 # characters
        MAX_TEXT = 1_000
        MAX_LIST = 10_000
        MAX_NUMBER = 1e15 # sums and shares of such are finite
        private_constant :MAX_NAME, :MAX_TEXT, :MAX_LIST, :MAX_NUMBER

        ERROR = {"error_class" => TEXT, "message" => TEXT, "place" => TEXT, "kind" => TEXT, "failures" => COUNT, "offset" => COUNT,
                 "since" => NUMBER,
                 "last" => NUMBER, "now" => FLAG, required: %w[since]}.freeze
        REST = {"since" => NUMBER, "left" => NUMBER, required: %w[since]}.freeze
        KEY = {"key" => TEXT, "offset" => COUNT, "messages" => COUNT, "age" => NUMBER, "attempt" => COUNT, "left" => NUMBER,
               "error" => ERROR}.freeze
        ROW = {"partition" => COUNT, "state" => TEXT, "position" => COUNT, "committed" => COUNT, "end_offset" => COUNT, "lag" => COUNT,
               "age" => NUMBER, "attempt" => COUNT, "in_memory" => COUNT, "without_progress" => NUMBER, "overdue" => FLAG,
               "working_at" => TEXT, "assigned" => NUMBER,
               "member" => COUNT,
               "collapsed" => FLAG, "isolating" => [COUNT], "blocked" => TEXT, "denied" => TEXT, "error" => ERROR,
               "rests" => %w[backoff keys user filter quiet dead_letters forwarding command].to_h { |name| [name, REST] },
               "stalled" => {"position" => COUNT, "since" => NUMBER, "tried" => [TEXT], required: %w[since tried]},
               "parked" => {"keys" => COUNT, "messages" => COUNT, "full" => FLAG, "oldest" => [KEY], required: %w[keys messages]},
               "transaction" => {"open" => NUMBER, "committed" => COUNT, "aborted" => COUNT}, "ranges" => [[COUNT]], "done_behind" => COUNT,
               required: %w[partition state]}.freeze
        TOPIC = {"topic" => NAME, "group" => NAME, "consumer" => TEXT, "dead_letter_topic" => NAME, "max_retries" => COUNT,
                 "decoded_by" => TEXT,
                 "not_on_workers" => TEXT, "minute" => {"errors" => COUNT, "dead" => COUNT, "dead_age" => NUMBER}, "partitions" => [ROW],
                 required: %w[topic group partitions]}.freeze
        MEMBER = {"number" => COUNT, "id" => NAME, "polled" => NUMBER, "silence" => NUMBER, "answered" => FLAG, "leaving" => FLAG,
                  "partitions" => COUNT, "rebalances" => COUNT, "rebalanced" => NUMBER, "lost" => COUNT, "commits" => COUNT,
                  "failed_commits" => COUNT, "commit_error" => TEXT, required: %w[commits failed_commits]}.freeze
        PROBLEM = {"code" => TEXT, "text" => TEXT, required: %w[code text]}.freeze
        TASK = {"task" => TEXT, "bytes" => NUMBER, "payloads" => NUMBER, "gain" => NUMBER, "parallel" => FLAG, required: %w[task]}.freeze
        QUANTILES = %w[p50 p90 p95 p99 p999 max].to_h { |name| [name, NUMBER] }.freeze
        ANY = {"kind" => NAME, "app" => NAME, "process" => NAME, "at" => NUMBER, "release" => NAME}.freeze
        STATE = {**ANY, "seq" => COUNT, "every" => NUMBER, "state" => TEXT, "guildhall" => TEXT, "ruby" => TEXT, "started" => NUMBER,
                 "host" => NAME, "pid" => COUNT, "number" => COUNT, "commands" => [NAME],
                 "max_consume_time" => NUMBER, "live" => [PROBLEM], "ready" => [PROBLEM],
                 "failure" => TEXT, "before" => TEXT, "rss" => COUNT, "rss_limit" => COUNT, "memory_used" => COUNT,
                 "cpu" => NUMBER, "gc" => NUMBER, "threads" => COUNT,
                 "full_collections" => {"state" => TEXT, "run" => {"idle" => COUNT, "memory" => COUNT, "time" => COUNT},
                                        "seconds" => NUMBER, "put_off" => COUNT},
                 "runners" => {"all" => COUNT, "busy" => COUNT, "waiting" => COUNT, required: %w[all busy waiting]},
                 "flight" => {"messages" => COUNT, "bytes" => COUNT, "max_messages" => COUNT, "max_bytes" => COUNT},
                 "producer" => {"queued" => COUNT},
                 "pool" => {"workers" => COUNT, "busy" => COUNT, "queued" => COUNT, "inline" => COUNT, "by_workers" => COUNT,
                            "deaths" => COUNT,
                            "breaker_open" => FLAG, "wait" => QUANTILES, "run" => QUANTILES, "tasks" => [TASK]},
                 "groups" => [{"group" => NAME, "assigned" => FLAG, "members" => [MEMBER], required: %w[group members]}],
                 "topics" => [TOPIC], required: %w[process state at]}.freeze
        MINUTE = {**ANY, "rss" => COUNT, "cpu" => NUMBER, "gc" => NUMBER, "seconds" => NUMBER, "busy" => NUMBER, "runners" => COUNT,
                  "topics" => [{"group" => NAME, "topic" => NAME, "consumed" => NUMBER, "bytes" => NUMBER, "dropped" => NUMBER,
                                "rejected" => NUMBER, "retries" => NUMBER, "dead" => NUMBER, "dead_age" => NUMBER, "errors" => NUMBER,
                                "lag" => NUMBER, "age" => NUMBER, required: %w[group topic]}],
                  required: %w[process]}.freeze
        EVENT = {**ANY, "name" => TEXT, "text" => TEXT, "group" => NAME, "topic" => NAME, "partition" => COUNT, "partitions" => [TEXT],
                 "task" => NAME, "position" => COUNT, "host" => NAME, "pid" => COUNT, "number" => COUNT, "status" => TEXT,
                 "command" => NAME, "action" => TEXT, "outcome" => TEXT, "reason" => TEXT, "by" => TEXT, "why" => TEXT, "trace" => [TEXT],
                 required: %w[process name text]}.freeze
        FAILURE = {**ANY, "fingerprint" => NAME, "type" => TEXT, "class" => TEXT, "message" => TEXT, "place" => TEXT, "backtrace" => [TEXT],
                   "group" => NAME, "topic" => NAME, "partition" => COUNT, "offset" => COUNT, "attempt" => COUNT, "outage" => FLAG,
                   "count" => COUNT, "first" => NUMBER, "last" => NUMBER, required: %w[process fingerprint]}.freeze
        KINDS = {"state" => STATE, "minute" => MINUTE, "event" => EVENT, "error" => FAILURE}.freeze
        private_constant :ERROR, :REST, :KEY, :ROW, :TOPIC, :MEMBER, :PROBLEM, :TASK, :QUANTILES, :ANY, :STATE, :MINUTE, :EVENT, :FAILURE

        class << self
          # @param data [Object] from JSON
          # @return [Object, nil] what of it the shape has; nil: nothing, or something required is missing
          def fit(data, shape)
            case shape
            when Hash then fields(data, shape)
            when Array then data.is_a?(Array) ? data.first(MAX_LIST).filter_map { |one| fit(one, shape.first) } : nil
            when NAME then Printable.words(data, MAX_NAME) if data.is_a?(String) && !data.empty?
            when TEXT then Printable.words(data, MAX_TEXT) if data.is_a?(String)
            when NUMBER then data.round(9) if data.is_a?(Numeric) && data.abs < MAX_NUMBER
            when COUNT then data if data.is_a?(Integer) && data.bit_length < 64
            when FLAG then data == true ? true : nil
            end
          end

          private

          def fields(data, shape)
            return unless data.is_a?(Hash)

            found = {}
            shape.each do |name, one|
              next if name == :required || (value = data[name]).nil?

              value = fit(value, one)
              found[name] = value unless value.nil?
            end
            found if shape.fetch(:required, []).all? { |name| found.key?(name) }
          end
        end
      end
    end
  end
end
