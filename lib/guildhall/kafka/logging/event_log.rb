# frozen_string_literal: true

require "logger"
require "guildhall/error_boundary"
require "guildhall/printable"
require_relative "../broker/errors"
require_relative "../events"
require_relative "../logging"

module Guildhall
  module Kafka
    module Logging
      # Writes a line for each event of an application: errors as ERROR, what is about to go wrong as WARN, what happens rarely as INFO,
      # batches and figures as DEBUG.
      # @api private
      class EventLog
        # INFO for all other events.
        LEVELS = {
          Logger::ERROR => %w[error.occurred broker.unreachable schema_registry.unreachable oauth_token.unavailable],
          Logger::WARN => %w[app.advised command.finished command.received dashboard.acted broker.reachable schema_registry.reachable
                             oauth_token.available offsets.none offsets.reset
                             partition.stalled partition.abandoned
                             dead_letter_queue.dispatched retry_topic.dispatched consumer.retrying consumer.threads_left
                             key.limit_reached key.parked outbox.parked signals.ignored swarm.process_restarting swarm.process_stopping],
          Logger::DEBUG => %w[batch.measured consumer.consumed consumer.skipped consumer.shutdown consumer.revoked dead_letter_queue.blocked
                              forwarding.blocked filter.rejected filter.waiting garbage_collection.run lag.measured messages.produced
                              offsets.committed outbox.measured outbox.sent statistics.emitted swarm.forked transaction.committed
                              transaction.aborted]
        }.flat_map { |level, names| names.map { |name| [name, level] } }.to_h.freeze
        # Of a line: lists of topics and partitions may be long. Messages of errors have a limit of their own.
        MAX_CHARACTERS = 2_000
        MAX_PARTITIONS = 5 # each with its offsets in one line

        def initialize(logger)
          @logger = logger
        end

        # @return [Array<String>] the events that the Logger prints at its present level, and wants: no payload is built for the others
        def names
          unwanted = @logger.respond_to?(:unwanted_events) ? @logger.unwanted_events : []
          Events::NAMES.select { |name| LEVELS.fetch(name, Logger::INFO) >= @logger.level } - unwanted
        end

        def call(event)
          @logger.add(level(event)) { line(event.name, event.payload) }
          trace = event.payload[:error]&.backtrace or return
          @logger.debug { "backtrace:\n  #{trace.join("\n  ")}" }
        end

        # @return [String] what has happened, for people
        def text(name, payload)
          method = name.tr(".", "_")
          text = respond_to?(method, true) ? send(method, **payload) : [name, *pairs(payload)].join(" ")
          Printable.words(text, MAX_CHARACTERS)
        end

        private

        # Of its name, except where a group begins: only messages that it skips are worth a warning.
        def level(event)
          return Logger::INFO if event.name == "offsets.none" && !skips?(**event.payload)

          LEVELS.fetch(event.name, Logger::INFO)
        end

        def skips?(place:, messages:, **) = place == :latest && messages.positive?

        def line(name, payload) = LogLine.new(text(name, payload), {event: name, **payload.except(:message), **described(**payload)})

        # From here to `error_occurred`: the lines of events, each method named after its event. Others have their name and payload.

        def app_advised(message:, **) = message

        def app_running(version:, groups:, topics:, **)
          what = topics.empty? ? "sends the outbox" : "consumes #{topics.join(", ")} as group #{groups.join(", ")}"
          "Guildhall #{version} #{what}; Ruby #{RUBY_VERSION}"
        end

        def app_stopping(timeout:, **) = "stopping: work in progress may take up to #{duration(timeout)} to finish"
        def app_stopped(unfinished:, **) = "stopped#{"; not finished: #{unfinished.join(", ")}" if unfinished.any?}"

        def command_received(action:, target:, args:, by:, why:, **)
          "command: #{[action, *pairs(args)].join(" ")} of #{target}, by #{by}: #{why}"
        end

        def command_finished(action:, target:, by:, outcome:, reason:, **)
          "command #{outcome}: #{action} of #{target}, by #{by}: #{reason}"
        end

        def broker_unreachable(broker:, reason:, advice:, seconds:, **)
          ["Kafka broker #{broker} cannot be reached#{lasting(seconds)}: #{reason}", *advice].join("; ")
        end

        def broker_reachable(broker:, seconds:, **) = "Kafka broker #{broker} answers again, after #{duration(seconds)}"

        def schema_registry_unreachable(registry:, reason:, seconds:, **)
          "schema registry #{registry} cannot be asked#{lasting(seconds)}, messages that need a schema wait: #{reason}"
        end

        def schema_registry_reachable(registry:, seconds:, **) = "schema registry #{registry} answers again, after #{duration(seconds)}"

        def protocol_refused(group:, reason:, **)
          "group #{group}: the classic protocol is used, for the brokers refuse the consumer protocol (#{reason}): " \
            "#{Broker::Errors.advice(reason, join: group)}"
        end

        def oauth_token_unavailable(servers:, reason:, seconds:, left:, **)
          what = left.positive? ? "the token in use is valid for #{duration(left.ceil)} more" : "clients cannot log in"
          "no token for Kafka at #{servers}#{lasting(seconds)}, #{what}: #{reason}"
        end

        def oauth_token_available(servers:, seconds:, **) = "tokens for Kafka at #{servers} come again, after #{duration(seconds)}"

        def rebalance_partitions_assigned(group:, partitions:, member: 1, **)
          "#{membership(group, member)}: assigned #{places(partitions)}"
        end

        def rebalance_partitions_revoked(group:, partitions:, lost:, member: 1, **)
          "#{membership(group, member)}: #{lost ? "lost" : "revoked"} #{places(partitions)}"
        end

        def offsets_none(group:, topic:, partitions:, place:, messages:, may_seek: false, **)
          what = messages == 1 ? "1 message" : "#{messages} messages"
          where = {earliest: "begins at the beginning, with #{what}", latest: "begins at the end, and skips #{what}"}.fetch(place)
          "group #{group}: nothing is committed for #{numbered(topic, partitions)}: #{where} (auto.offset.reset #{place})" \
            "#{", unless its consumer's `initialized` seeks" if may_seek}"
        end

        def offsets_reset(group:, topic:, partitions:, **)
          moves = partitions.first(MAX_PARTITIONS).map do |number, (from, to)|
            "#{topic}/#{number} reads on at #{to} instead of #{from}: #{(to - from).abs} offsets are #{to > from ? "skipped" : "repeated"}"
          end
          moves << "and #{partitions.size - MAX_PARTITIONS} more partitions" if partitions.size > MAX_PARTITIONS
          "group #{group}: the next offset does not exist any more (deleted by the topic's retention, the topic is a new one, or an " \
            "offset beyond its end was committed): #{moves.join("; ")}"
        end

        def members_changed(group:, members:, change:, seconds:, **)
          state = change.positive? ? "#{duration(seconds)} behind" : "caught up"
          "group #{group}: #{state}, so that this process has #{members} member#{"s" if members > 1} now"
        end

        def garbage_collection_run(reason:, seconds:, **)
          why = {idle: "while no consumer was at work", memory: "for memory has grown", time: "for the last one was long ago"}[reason]
          "full garbage collection #{why}: #{duration(seconds)}"
        end

        def garbage_collection_switched(state:, left:, limit:, **)
          memory = "; #{left / 1_048_576} of #{limit / 1_048_576} MB of memory are left" if left
          "full garbage collections are #{state == :deferred ? "put off" : "left to Ruby"}#{memory}"
        end

        def signals_ignored(signals:, **)
          "#{signals.map { |name| "SIG#{name}" }.join(", ")} will not stop this process: its parent has left " \
            "#{signals.one? ? "it" : "them"} ignored (`command &` in a shell script does so, and nohup)"
        end

        def swarm_running(version:, processes:, pid:, threads:, **)
          "Guildhall #{version}: swarm of #{processes} process#{"es" if processes > 1}, parent #{pid}; Ruby #{RUBY_VERSION}" \
            "#{"; these threads of the application end with the fork: #{threads.join(", ")}" if threads.any?}"
        end

        def swarm_process_started(number:, pid:, **) = "process #{number}: pid #{pid}"
        def swarm_process_stopping(number:, pid:, reason:, **) = "process #{number} (pid #{pid}) is replaced: #{reason}"
        def swarm_process_ended(number:, pid:, status:, **) = "process #{number} (pid #{pid}) has ended: #{status}"
        def swarm_process_restarting(number:, seconds:, **) = "process #{number} is started again in #{duration(seconds)}"

        def consumer_retrying(topic:, partition:, attempt:, seconds:, offset: nil, **)
          ["retrying #{topic}/#{partition}", *(" from offset #{offset}" if offset), " in #{duration(seconds)}",
           *(", after attempt #{attempt}" if attempt.positive?)].join
        end

        def consumer_threads_left(topic:, consumer:, site:, threads:, consumers:, **)
          "#{threads} threads that #{consumers} consumers (#{consumer}, topic #{topic}) have started at #{site} live on although their " \
            "partitions went away: end what `initialized` starts in `revoked` and `shutdown`, or start it once for the process"
        end

        def dashboard_acted(by:, action:, target:, why:, outcome:, **)
          "dashboard: #{by} asked for #{[action.name.tr("_", " "), *target].join(" of ")}#{" (#{why})" if why}: #{outcome}"
        end

        def dead_letter_queue_dispatched(topic:, partition:, offset:, to:, error_class:, **)
          "dead letter: #{topic}/#{partition} offset #{offset} went to #{to} because of #{error_class}"
        end

        def retry_topic_dispatched(topic:, partition:, offset:, to:, error_class:, **)
          "retry later: #{topic}/#{partition} offset #{offset} went to #{to} because of #{error_class}"
        end

        def batch_finished(id:, size:, seconds:, **) = "batch #{id}: all #{size} jobs are done, after #{duration(seconds)}"

        def schedule_ran(group:, task:, due:, seconds:, error_class:, **)
          "group #{group}: task #{task}, due #{due}, #{error_class ? "failed (#{error_class})" : "ran"} in #{duration(seconds)}"
        end

        def outbox_parked(id:, topic:, reason:, **)
          "outbox: message #{id} to topic #{topic} is parked, and those behind it go on: #{reason}; then: guildhall outbox retry #{id}"
        end

        def partition_stalled(topic:, partition:, position:, action:, **)
          "#{topic}/#{partition} is stalled at offset #{position} although there is more to read: " \
            "#{action == :seek ? "it seeks to that offset" : "it leaves the group and joins it again"}"
        end

        def routes_overlapping(group:, topic:, chosen:, others:, **)
          "group #{group}: topic #{topic} is consumed by the route #{chosen}; #{others.join(", ")} would match it as well"
        end

        def error_occurred(error:, type:, group: nil, topic: nil, partition: nil, message: ErrorBoundary.message(error), **rest)
          place = "at #{[topic, partition].compact.join("/")}" if topic
          frame = ApplicationFrame.of(error)
          what = [type, "failed", *place, *pairs({group: (group unless partition), **rest}.compact)].join(" ")
          "#{what}: #{error.class}: #{message}#{" (#{frame})" if frame}"
        end

        def lasting(seconds) = seconds >= 1 ? " for #{duration(seconds)} now" : ""
        def membership(group, number) = "group #{group}#{", member #{number}" if number > 1}"
        def duration(seconds) = Printable.duration(seconds)

        # @param pairs [Array<Array(String, Integer)>] topics and partitions
        # @return [String] such as "orders/0-3; payments/7"
        def places(pairs)
          return "nothing" if pairs.empty?

          pairs.group_by(&:first).map { |topic, some| "#{topic}/#{Printable.runs(some.map(&:last))}" }.join("; ")
        end

        def numbered(topic, numbers)
          return "#{topic}/#{numbers.first}" if numbers.one?

          "#{topic}, partitions #{Printable.runs(numbers)}"
        end

        def pairs(payload) = payload.map { |key, value| "#{key}=#{value.is_a?(String) ? value : value.inspect}" }

        # The fields of an error for machines.
        def described(error: nil, message: nil, **)
          return {} unless error.is_a?(Exception)

          {error: {class: error.class.name, message: message || ErrorBoundary.message(error), frame: ApplicationFrame.of(error)}}
        end
      end
    end
  end
end
