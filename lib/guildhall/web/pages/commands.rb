# frozen_string_literal: true

require_relative "reported"

module Guildhall
  class Web
    module Pages
      # Links to the commands that who asks may send, for pages of partitions and processes.
      module Commanded
        PARTITION = {"Pause" => :pause, "Resume" => :resume, "Retry now" => :retry, "Seek" => :seek}.freeze
        PROCESS = {"Quiet" => :quiet, "Resume" => :resume, "Trace" => :trace, "Stop" => :stop}.freeze
        private_constant :PARTITION, :PROCESS

        private

        # @param place [Array<String, Integer>] group, and where not all of it is meant topic and partition
        # @return [Hash] commands: what they are called, and their paths; commands_note: why there are none, or not all, nil: there are
        def partition_commands(*place)
          links = PARTITION.map { |label, action| {label:, action:, path: ["commands", action.name, *place]} }
          allowed(links.reject { |link| link[:action] == :seek && place.size < 3 }, place.first, holders(*place))
        end

        def process_commands(process)
          links = PROCESS.map { |label, action| {label:, action:, path: ["processes", process, action.name]} }
          allowed(links, process, [*reports.process(process)])
        end

        # @return [Array<Reports::LastReport>] of the processes that run and have partitions of it
        def holders(group, topic = nil, partition = nil)
          return [*reports.row(group, topic, partition)&.last] if partition

          reports.live.select { |last| last.topics.any? { |one| one.group == group && (topic.nil? || one.topic == topic) } }
        end

        # @param processes [Array<Reports::LastReport>] that would carry them out; none: who would is not known
        def allowed(links, target, processes)
          links = @web.commander ? links.select { |link| @web.access.allowed?(@request, link[:action], target) } : []
          taken, others = links.partition { |link| processes.empty? || processes.any? { |last| takes?(last, link[:action].name) } }
          {commands: taken.map { |link| {**link, action: link[:action].name} },
           commands_note: (note(processes, others) if links.any?)}
        end

        # A report of an earlier release does not say which.
        def takes?(last, action) = !last.ended? && last.report["commands"]&.include?(action) != false

        def note(processes, others)
          return if processes.empty?
          return "It has ended, and takes no commands." if processes.all?(&:ended?)

          silent = processes.count { |last| last.report["commands"] == [] }
          return "Not allowed there (config.commands, allow:): #{others.map { |link| link[:label].downcase }.join(", ")}." \
            if silent.zero? && others.any?

          who = processes.one? ? "The process takes" : "#{silent} of #{processes.size} processes #{silent == 1 ? "takes" : "take"}"
          "#{who} no commands: they are off there (config.commands)." if silent.positive?
        end
      end

      # Who has commanded what, and what became of it.
      class Commands < Page
        include Reported

        KINDS = {"done" => "ok", "refused" => "warn", "failed" => "bad"}.freeze
        private_constant :KINDS

        private

        def title = "Commands"

        def data
          commander = @web.commander
          {on: !commander.nil?, missing: (missing if commander), **read(commander || @web.application.commander(private_key: nil))}
        end

        # What processes have said is kept as long as reports.
        def read(commander)
          # Commands do not say of which application they are.
          outcomes = @web.cluster.reports.events.select { |event| event.name == "outcome" }.group_by { |event| event.record["command"] }
          rows = cluster.commands(commander).map { |sent| row(sent, outcomes.fetch(sent.command.id, [])) }
          {rows:, problem: nil}
        rescue Kafka::KafkaError => error
          {rows: [], problem: Printable.valid(error.message)}
        end

        def row(sent, events)
          command = sent.command
          {id: command.id, at: time(sent.at.round), action: command.action.name, what: what(command),
           target: Kafka::Commanding::Command.place(command.target), path: target_path(**command.target), by: command.by, why: command.why,
           signed: sent.signed, outcomes: events.map { |event| outcome(event.record) },
           open: events.empty? && Time.now.to_f - sent.at.to_f < command.expires}
        end

        # @return [Array<String, Integer>] of the page that shows a command's target
        def target_path(process: nil, group: nil, topic: nil, partition: nil)
          process ? ["processes", process] : ["groups", *[group, topic, partition].compact]
        end

        def what(command)
          case command.action
          when :pause then "pause for #{Printable.duration(command.args[:seconds])}"
          when :seek then "seek from #{command.expect[:position]} to #{command.args[:to]}"
          else command.action.name
          end
        end

        def outcome(record)
          {outcome: record["outcome"], kind: KINDS.fetch(record["outcome"], "idle"), reason: record["reason"], process: record["process"],
           short: reports.label(record["process"]), trace: record["trace"]}
        end
      end
    end
  end
end
