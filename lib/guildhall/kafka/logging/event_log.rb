# frozen_string_literal: true

require "guildhall/error_boundary"
require "guildhall/printable"
require_relative "frame"
require_relative "line"
require_relative "../events"

module Guildhall
  module Kafka
    module Logging
      # Subscribes to an application's events and writes a line for each: errors as ERROR, what is about to go wrong as WARN,
      # what happens rarely as INFO, batches and figures as DEBUG.
      class EventLog
        LEVELS = {"error.occurred" => Logger::ERROR, "broker.unreachable" => Logger::ERROR,
                  "schema_registry.unreachable" => Logger::ERROR, "schema_registry.reachable" => Logger::WARN, "app.advised" => Logger::WARN,
                  "broker.reachable" => Logger::WARN, "offsets.reset" => Logger::WARN,
                  "partition.stalled" => Logger::WARN, "partition.abandoned" => Logger::WARN,
                  "dead_letter_queue.dispatched" => Logger::WARN, "consumer.retrying" => Logger::WARN,
                  "key.limit_reached" => Logger::WARN, "key.parked" => Logger::WARN, "retry_topic.dispatched" => Logger::WARN,
                  "signals.ignored" => Logger::WARN, "swarm.process_restarting" => Logger::WARN, "swarm.process_stopping" => Logger::WARN,
                  "swarm.forked" => Logger::DEBUG,
                  "consumer.consumed" => Logger::DEBUG, "consumer.skipped" => Logger::DEBUG, "consumer.shutdown" => Logger::DEBUG,
                  "consumer.revoked" => Logger::DEBUG, "dead_letter_queue.blocked" => Logger::DEBUG,
                  "forwarding.blocked" => Logger::DEBUG,
                  "filter.rejected" => Logger::DEBUG, "filter.waiting" => Logger::DEBUG,
                  "lag.measured" => Logger::DEBUG, "messages.produced" => Logger::DEBUG, "offsets.committed" => Logger::DEBUG,
                  "statistics.emitted" => Logger::DEBUG, "transaction.committed" => Logger::DEBUG,
                  "transaction.aborted" => Logger::DEBUG}.freeze
        # Of a line: lists of topics and partitions may be long. Messages of errors have a limit of their own.
        MAX_CHARACTERS = 2_000
        MAX_PARTITIONS = 5 # each with its offsets in one line

        def initialize(logger)
          @logger = logger
        end

        # @return [Array<String>] the events that this Logger would print at its present level, and wants: the others are not built
        def names
          unwanted = @logger.respond_to?(:unwanted_events) ? @logger.unwanted_events : []
          Events::NAMES.select { |name| LEVELS.fetch(name, Logger::INFO) >= @logger.level } - unwanted
        end

        def call(event)
          @logger.add(LEVELS.fetch(event.name, Logger::INFO)) { line(event.name, event.payload) }
          trace = event.payload[:error]&.backtrace or return
          @logger.debug { "backtrace:\n  #{trace.join("\n  ")}" }
        end

        private

        def line(name, payload)
          method = name.tr(".", "_")
          text = respond_to?(method, true) ? send(method, **payload) : [name, *pairs(payload)].join(" ")
          Line.new(Printable.words(text, MAX_CHARACTERS), {event: name, **payload.except(:message), **described(**payload)})
        end

        def app_advised(message:, **) = message

        def app_running(version:, groups:, topics:, **)
          "Guildhall #{version} consumes #{listed(topics)} as group #{listed(groups)}; Ruby #{RUBY_VERSION}"
        end

        def app_stopping(timeout:, **)
          "stopping: work in progress has #{timeout.round(1)} s"
        end

        def app_stopped(unfinished:, **)
          unfinished.empty? ? "stopped" : "stopped; not finished: #{listed(unfinished)}"
        end

        def broker_unreachable(broker:, reason:, advice:, seconds:, **)
          what = "Kafka broker #{broker} cannot be reached#{" for #{seconds.round} s now" if seconds >= 1}: #{reason}"
          [what, *advice].join("; ")
        end

        def broker_reachable(broker:, seconds:, **)
          "Kafka broker #{broker} answers again, after #{seconds.round} s"
        end

        def schema_registry_unreachable(registry:, reason:, seconds:, **)
          "schema registry #{registry} cannot be asked#{" for #{seconds.round} s now" if seconds >= 1}, messages that need a " \
            "schema wait: #{reason}"
        end

        def schema_registry_reachable(registry:, seconds:, **) = "schema registry #{registry} answers again, after #{seconds.round} s"

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
          "group #{group}: the next offset does not exist any more (deleted by the topic's retention, or the topic is a new one): " \
            "#{moves.join("; ")}"
        end

        def numbered(topic, numbers)
          return "#{topic}/#{numbers.first}" if numbers.one?

          runs = numbers.slice_when { |before, after| after > before + 1 }.map { |run| [run.first, run.last].uniq.join("-") }
          "#{topic}, partitions #{runs.join(", ")}"
        end

        def members_changed(group:, members:, change:, seconds:, **)
          state = change.positive? ? "#{seconds.round} s behind" : "caught up"
          "group #{group}: #{state}, so that this process has #{members} member#{"s" if members > 1} now"
        end

        def membership(group, number)
          "group #{group}#{", member #{number}" if number > 1}"
        end

        def signals_ignored(signals:, **)
          "#{listed(signals.map { |name| "SIG#{name}" })} will not stop this process: its parent has left " \
            "#{signals.one? ? "it" : "them"} ignored (`command &` in a shell script does so, and nohup)"
        end

        def swarm_running(version:, processes:, pid:, threads:, **)
          "Guildhall #{version}: swarm of #{processes} process#{"es" if processes > 1}, parent #{pid}; Ruby #{RUBY_VERSION}" \
            "#{"; these threads of the application end with the fork: #{listed(threads)}" if threads.any?}"
        end

        def swarm_process_started(number:, pid:, **) = "process #{number}: pid #{pid}"

        def swarm_process_stopping(number:, pid:, reason:, **)
          "process #{number} (pid #{pid}) is replaced: #{reason}"
        end

        def swarm_process_ended(number:, pid:, status:, **) = "process #{number} (pid #{pid}) has ended: #{status}"

        def swarm_process_restarting(number:, seconds:, **) = "process #{number} is started again in #{seconds.round(1)} s"

        def consumer_retrying(topic:, partition:, attempt:, seconds:, offset: nil, **)
          ["retrying #{topic}/#{partition}", *(" from offset #{offset}" if offset), " in #{seconds.round(1)} s",
           *(", after attempt #{attempt}" if attempt.positive?)].join
        end

        def dead_letter_queue_dispatched(topic:, partition:, offset:, to:, error_class:, **)
          "dead letter: #{topic}/#{partition} offset #{offset} went to #{to} because of #{error_class}"
        end

        def retry_topic_dispatched(topic:, partition:, offset:, to:, error_class:, **)
          "retry later: #{topic}/#{partition} offset #{offset} went to #{to} because of #{error_class}"
        end

        def schedule_ran(group:, task:, due:, seconds:, error_class:, **)
          "group #{group}: task #{task}, due #{due}, #{error_class ? "failed (#{error_class})" : "ran"} in #{seconds.round(1)} s"
        end

        def routes_overlapping(group:, topic:, chosen:, others:, **)
          "group #{group}: topic #{topic} is consumed by the route #{chosen}; #{listed(others)} would match it as well"
        end

        def error_occurred(error:, type:, topic: nil, partition: nil, message: ErrorBoundary.message(error), **rest)
          place = "at #{[topic, partition].compact.join("/")}" if topic
          frame = Frame.of(error)
          what = [type, "failed", *place, *pairs(rest.compact)].join(" ")
          "#{what}: #{error.class}: #{message}#{" (#{frame})" if frame}"
        end

        # An error for machines.
        def described(error: nil, message: nil, **)
          return {} unless error.is_a?(Exception)

          {error: {class: error.class.name, message: message || ErrorBoundary.message(error), frame: Frame.of(error)}}
        end

        def pairs(payload)
          payload.map { |key, value| "#{key}=#{value.is_a?(String) ? value : value.inspect}" }
        end

        def listed(list)
          list.join(", ")
        end

        def places(pairs)
          pairs.empty? ? "nothing" : pairs.map { |pair| pair.join("/") }.join(", ")
        end
      end
    end
  end
end
