# frozen_string_literal: true

require "guildhall/printable"
require_relative "../errors"
require_relative "../reporting/trace"
require_relative "../reporting/wording"
require_relative "command"

module Guildhall
  module Kafka
    module Commanding
      # Carries commands out in this process, after a last look at what they expect. May block for a broker's answer.
      # @api private
      class Actions
        # A command is not carried out: the message says why.
        class Refused < StandardError
          include Error
        end

        SAME_SECONDS = 2 # by which two reckonings of the time of one assignment may differ

        def initialize(application) = @application = application

        # Whether its target is this process, or has partitions here.
        def mine?(command)
          command.target.key?(:process) ? command.target[:process] == @application.process_name : partitions(command).any?
        end

        # @return [Array(String, Array<String> | nil)] what was done, for people; and of `trace` what was found
        # @raise [Refused]
        def perform(command)
          return trace if command.action == :trace
          return [on_process(command.action), nil] if command.target.key?(:process)

          partitions = partitions(command)
          raise Refused, "the partition has gone to another process" if partitions.empty?

          partitions.each { |partition| expect!(partition, **command.expect) }
          [on_partitions(command, partitions), nil]
        end

        private

        def partitions(command)
          group, topic, number = command.target.values_at(:group, :topic, :partition)
          @application.partitions.select do |one|
            one.topic.group == group && (topic.nil? || one.name == topic) && (number.nil? || one.number == number)
          end
        end

        def expect!(partition, process: nil, position: nil, assigned: nil)
          unless process.nil? || process == @application.process_name
            raise Refused, "#{partition} has moved to this process: it was expected to be with #{process}"
          end
          unless assigned.nil? || (Time.now.to_f - partition.snapshot.assigned - assigned).abs < SAME_SECONDS
            raise Refused, "#{partition} has been assigned anew since"
          end
          return if position.nil? || (now = partition.position) == position

          raise Refused, "the position of #{partition} is #{now || "not known"} by now, not #{position}: pause it first, so that it " \
                         "stays, and ask again after its next commit (config.commit_interval)"
        end

        def on_partitions(command, partitions)
          case command.action
          when :pause then pause(partitions, command.args.fetch(:seconds))
          when :resume then resume(partitions)
          when :retry then retry_now(partitions)
          when :seek then seek(partitions.first, Command.place_of(command.args.fetch(:to)), command.expect.fetch(:position))
          end
        end

        def on_process(action)
          case action
          when :quiet
            @application.quiet
            "quiet: no new work is begun, until it is resumed"
          when :resume
            @application.resume
            "not quiet: new work is begun"
          when :stop then "stopping: the work in progress is finished, within #{@application.config.shutdown_timeout} s"
          end
        end

        # What partitions do has errors that may quote a message: that is for who reads the log.
        def trace
          @application.log_target&.warn(Reporting::Trace.lines(@application).join("\n"))
          threads = Reporting::Trace.threads
          ["#{threads.size} threads: the log has where each of them is", threads.flat_map { |text| text.lines(chomp: true) }]
        end

        def pause(partitions, seconds)
          paused = partitions.reject { |partition| partition.pause(seconds, :command).nil? }
          raise Refused, "#{named(partitions)} #{partitions.one? ? "is" : "are"} being given up" if paused.empty?

          "#{named(paused)}: paused until #{(Time.now + seconds).utc.strftime("%F %T UTC")}, or until the next rebalance takes it away"
        end

        def resume(partitions)
          resumed = partitions.select { |partition| partition.resume(:command) }
          return "#{named(partitions)}: no command has paused it" if resumed.empty?

          "#{named(resumed)}: resumed#{still(resumed)}"
        end

        # What else they rest for.
        def still(partitions)
          resting = partitions.select(&:paused?)
          return if resting.empty?

          "; #{resting.first}: #{Reporting::Wording.because(resting.first.snapshot.data)}"
        end

        def retry_now(partitions)
          found = partitions.map(&:retry_now)
          keys = found.sum(&:last)
          what = [*("#{Printable.count(found.count(&:first), "partition")} backed off" if found.any?(&:first)),
                  *("#{Printable.count(keys, "key")} waited" if keys.positive?)]
          "#{named(partitions)}: #{what.empty? ? "nothing waited for another attempt" : "the next attempt comes now (#{what.join(", ")})"}"
        end

        def seek(partition, target, position)
          partition.seek(target, from: position)
          "#{partition}: from #{position} to #{target.is_a?(Time) ? target.utc.iso8601(3) : target}#{difference(target, position)}"
        rescue SeekError => error
          raise Refused, error.message
        end

        def difference(target, position)
          return unless target.is_a?(Integer) && target != position

          offsets = Printable.count((target - position).abs, "offset")
          target > position ? ": #{offsets} will not be consumed" : ": #{offsets} will be consumed again"
        end

        def named(partitions)
          partitions.one? ? partitions.first.to_s : "#{partitions.size} partitions of #{partitions.map(&:name).uniq.join(", ")}"
        end
      end
    end
  end
end
