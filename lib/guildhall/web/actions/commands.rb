# frozen_string_literal: true

require "guildhall/kafka/cli/moment"

module Guildhall
  class Web
    module Actions
      # A command to running processes: signed and sent, and then its outcome is waited for.
      class Command < Action
        WAIT_SECONDS = 5
        REASONLESS = "(no reason was given)"
        OFF = "This page sends no commands: give it the private key, as commands: {private_key: " \
              "ENV[\"GUILDHALL_COMMANDS_PRIVATE_KEY\"]}. The page Commands says more."
        private_constant :WAIT_SECONDS, :REASONLESS

        # @return [Hash{Array<String, Symbol>=>Class}] by the parts of their addresses
        def self.paths
          places = [%i[group], %i[group topic], %i[group topic partition]]
          partitions = [Pause, Resume, Retry].product(places) + [[Seek, places.last]]
          {**partitions.to_h { |action, place| [["commands", action.word, *place], action] },
           **[Quiet, Unquiet, Stop, Trace].to_h { |action| [["processes", :process, action.word], action] }}
        end

        def self.word = name.split("::").last.downcase
        def name = self.class.word.to_sym
        def target = names[:process] || names.fetch(:group)
        def crumbs = {place.values.join("/") => back}

        def perform(order)
          expected = order.expect.transform_values { |value| value.is_a?(Hash) ? value.transform_keys(&:to_sym) : value }
          raise Seal::Forged unless expected.fetch("target") == place

          answer = commander!.issue(name, place, by: order.by, why: order.why || REASONLESS, id: order.id, args: expected.fetch("args"),
            expect: expected.fetch("expect"), wait: WAIT_SECONDS)
          Done.new(note: note(answer), path: back)
        rescue Seal::Forged
          raise Forms::Refused.new("this form was made for something else.", 403)
        end

        private

        # @return [Hash{Symbol=>Object}] the command's target
        def place = names

        # @return [Array<String>] the page that shows it
        def back = names.key?(:process) ? ["processes", target] : ["groups", *place.values]

        def commander! = @web.commander || raise(Forms::Refused, OFF)

        def plan_of(button:, args: {}, expect: {}, **)
          return Plan.new(title:, back:, says: [OFF]) unless @web.commander

          Plan.new(title:, subject:, back:, button:, expect: {target: place, args:, expect:},
            foot: "It is carried out within 30 seconds, once, or not at all.", **)
        end

        def title = "#{name.capitalize} #{subject}"
        def subject = Kafka::Commanding::Command.place(place)

        # @raise [Forms::Refused] where all processes refuse it
        def note(answer)
          done, others = answer.outcomes.partition { |one| one.outcome == :done }
          raise Forms::Refused, others.map(&:reason).uniq.join("; ") if done.empty? && others.any?
          return answer.outcomes.map(&:reason).uniq.join("; ") if done.any?

          "It was sent, and no process has answered within #{WAIT_SECONDS} seconds. It may still be carried out in the next " \
            "#{(answer.command.expires - WAIT_SECONDS).round} seconds; what becomes of it says the page Commands."
        end
      end

      # One of partitions.
      class PartitionCommand < Command
        private

        def place = names.key?(:partition) ? {**names, partition: number} : names
        def number = @request.number(:partition)

        # @return [Reports::View::Row, nil] as its process has reported it; nil: that is not known
        def held
          return unless names.key?(:partition)

          @held ||= cluster.reports.row(names[:group], names[:topic], number)
        end

        # That it is still with that process, since the same time.
        def expect
          return {} unless held

          assigned = held.row["assigned"]
          {process: held.last.name, assigned: assigned && (held.last.report["at"] - assigned)}.compact
        end

        def where
          return "Each process that has some of them answers for itself." unless names.key?(:partition)
          return "Which process has it is not known here: none has reported it (config.reports)." unless held

          "It is with #{held.last.short}: where it has moved by then, nothing is done."
        end
      end

      # Consumes nothing new of it, for a time.
      class Pause < PartitionCommand
        TIMES = {"15 minutes" => 900, "1 hour" => 3_600, "4 hours" => 14_400, "24 hours" => 86_400}.freeze
        private_constant :TIMES

        def plan
          chosen = TIMES.key?(@request.text("for")) ? @request.text("for") : "1 hour"
          plan_of(button: "Pause it for #{chosen}", args: {seconds: TIMES.fetch(chosen)}, expect:,
            fields: [{name: "for", label: "For", value: chosen, options: TIMES.keys}],
            says: ["Nothing new of it is consumed; what is in work is finished. #{where}",
                   "It goes on when the time is over, when it is resumed, and when another process gets it, as at each deployment."])
        end
      end

      # Ends a pause by command.
      class Resume < PartitionCommand
        def plan
          plan_of(button: "Resume it", expect:,
            says: ["It ends a pause by command. What its consumer has paused itself stays paused. #{where}"])
        end
      end

      # The next attempt comes now.
      class Retry < PartitionCommand
        def plan
          plan_of(button: "Retry now", expect:,
            says: ["What it backs off for is tried again now, and so are its parked keys. Where that fails, it backs off again. #{where}"])
        end
      end

      # Moves it to another position.
      class Seek < PartitionCommand
        LIKE = "an offset, earliest, latest, -100 or +100 (from where it is), or a time, such as 2h (ago) or 2026-01-31 09:00"
        private_constant :LIKE

        def plan
          to = @request.text("to")
          field = {name: "to", label: "To: #{LIKE}", value: to, size: 28}
          return question(field, @web.commander ? "Say where it is to go on." : OFF) unless to && @web.commander

          step = cluster.seek_plan(names[:group], names[:topic], number, **Kafka::CLI::Moment.target(to))
          plan_from(step, held&.row&.fetch("position", nil), field)
        end

        private

        def question(field, sentence) = Plan.new(title:, subject:, back:, fields: [field], says: [sentence])

        # @param position [Integer, nil] as its process has reported it; nil: none has
        def plan_from(step, position, field)
          from = position || step.from
          return question(field, "The group has committed nothing: there is no position to go from.") unless from

          skipped = [step.to - from, 0].max
          again = [from - step.to, 0].max
          plan_of(button: "Seek to #{step.to}", danger: true, args: {to: step.to}, expect: {**expect, position: from}, fields: [field],
            query: {"to" => @request.text("to")},
            rows: [*positions(position, step.from), {what: "To offset", value: step.to, kind: nil},
                   {what: "Offsets that are never consumed", value: skipped, kind: ("bad" if skipped.positive?)},
                   {what: "Offsets that are consumed again", value: again, kind: nil}],
            says: [goes_by(position, step.from),
                   "Marks of transactions, and what compaction has removed, have offsets, too: they count. #{where}",
                   "Where the position is another one by then, nothing is done: pause it first, so that it stays."],
            warnings: skipped.positive? ? ["this group does not consume what is skipped, unless somebody moves it back."] : [])
        end

        def positions(position, committed)
          [{what: "The process is at (the first offset that is not done)", value: position || "not known", kind: ("strong" if position)},
           {what: "Committed by the group", value: committed || "nothing", kind: ("strong" unless position)},
           ({what: "Apart", value: (position - committed).abs, kind: nil} if position && committed)].compact
        end

        # The process refuses it where it is elsewhere.
        def goes_by(position, committed)
          return "No process has reported its position, so it goes by what is committed." unless position
          return "It goes by the position of the process, which is what is committed." if position == committed

          "It goes by the position of the process#{", not by what is committed" if committed}."
        end
      end

      # One of a process.
      class ProcessCommand < Command
        private

        def subject = "process #{Kafka::ProcessName.short(target)}"
      end

      # Begins no new work.
      class Quiet < ProcessCommand
        def plan
          plan_of(button: "Make it quiet",
            says: ["It begins no new work and finishes what it has begun. It keeps its partitions, and consumes nothing of them.",
                   "It stays so until it is resumed, or started again."])
        end
      end

      # Takes that back.
      class Unquiet < ProcessCommand
        def self.word = "resume"
        def plan = plan_of(button: "Resume it", says: ["It begins new work again, after it was made quiet."])
      end

      # Ends it in order.
      class Stop < ProcessCommand
        def plan
          plan_of(button: "Stop it", danger: true,
            says: ["It finishes the work in progress, commits, leaves its groups, and ends. Others get its partitions.",
                   "What supervises it, such as systemd, Kubernetes or a swarm, may start another one at once."])
        end
      end

      # Where its threads are.
      class Trace < ProcessCommand
        def plan
          plan_of(button: "Ask where its threads are",
            says: ["It writes to its log where each of its threads is and what each partition does. It goes on as before."])
        end
      end
    end
  end
end
