# frozen_string_literal: true

require_relative "dead_letters_command"

module Guildhall
  module Kafka
    module CLI
      class Dlq < Guildhall::CLI::Command
        # `guildhall dlq replay`: sends dead letters back to their topics.
        class Replay < DeadLettersCommand
          PROGRESS_INTERVAL_SECONDS = 2 # between two lines of progress
          NOTES = <<~TEXT

            One of --all, --rest and --offsets says what to replay. Bytes, key and headers are those of the message as it
            was, and so is the partition; dead letters stay in the dead letter topic. Only what is there at the start is
            replayed, so that what fails again is not replayed for ever.

            How far --all and --rest have come is kept at the broker (as an offset of the group GROUP_ID.replay) after each
            hundred dead letters, which were confirmed by then: interrupted (Ctrl-C ends the hundred at hand first) or killed,
            --rest goes on there, and at most a hundred are replayed twice. With --source, --group, --error or --offsets
            nothing is kept. Every consumer group of the topic consumes what is replayed, also those that had handled it.
          TEXT

          # (see Guildhall::CLI::Command.summary)
          def self.summary = "Send dead letters back to their topics"

          private

          def define_options(options)
            super
            options.on("--all", "everything, from the beginning")
            options.on("--rest", "all after the last one that was replayed")
            options.on("--to TOPIC", "to this topic instead; its partitioner chooses the partition")
            options.on("--dry-run", "only print how many")
            options.separator(NOTES)
          end

          def perform
            unless @options.values_at(:all, :rest, :offsets).one?
              raise Guildhall::ArgumentError, "say what to replay with one of --all, --rest and --offsets (guildhall dlq replay --help)"
            end

            status = each_topic { |dead_letters| replay(dead_letters) }
            @interrupted ? 1 : status
          end

          def replay(dead_letters)
            ranges = ranges_to_replay(dead_letters)
            return count(dead_letters, ranges) if @options[:"dry-run"]

            replay = Broker::Replay.new(dead_letters, Kafka.config, to: @options[:to], note: noted?) { |dead_letter| wanted?(dead_letter) }
            progress = progress(dead_letters, ranges)
            outcomes = {}
            interruptible(replay) { replay.run(ranges) { |outcome| progress.call(outcomes[outcome.partition] = outcome) } }
          ensure
            outcomes&.each_value { |outcome| @out.puts(summary(dead_letters, ranges.fetch(outcome.partition), outcome)) }
            @out.puts(advice(dead_letters)) if replay&.interrupted?
          end

          # Whether the broker keeps how far the replay has come.
          def noted? = !@options[:offsets] && !filtered?

          def ranges_to_replay(dead_letters)
            ranges = chosen_ranges(dead_letters)
            return ranges unless @options[:rest]

            replayed = dead_letters.replayed
            unless replayed.values.any? || ranges.values.all?(&:none?)
              raise Guildhall::ArgumentError, "nothing of #{dead_letters.name} was replayed yet, or so long ago that the broker has " \
                                              "forgotten: use --all or --offsets"
            end

            ranges.to_h { |partition, range| [partition, (replayed[partition] || 0).clamp(range.begin, range.end)...range.end] }
          end

          def count(dead_letters, ranges)
            found = ranges.sum do |partition, range|
              wanted = 0
              dead_letters.each(partition, range) { |dead_letter| wanted += 1 if wanted?(dead_letter) }
              wanted
            end
            @out.puts("#{dead_letters.name}: #{found} dead letters would be replayed#{" to #{@options[:to]}" if @options[:to]}")
          end

          # The first signal ends the replay in good order, the second one the process.
          def interruptible(replay)
            previous = %w[INT TERM].to_h do |name|
              [name, trap(name) do
                trap(name, "DEFAULT")
                @interrupted = true
                replay.interrupt
              end]
            end
            yield
          ensure
            previous&.each { |name, handler| trap(name, handler || "DEFAULT") }
          end

          def progress(dead_letters, ranges)
            total = ranges.sum { |_, range| range.size }
            reported_at = Clock.now
            done = Hash.new(0)
            lambda do |outcome|
              done[outcome.partition] = outcome.replayed + outcome.skipped
              next if Clock.now - reported_at < PROGRESS_INTERVAL_SECONDS

              reported_at = Clock.now
              @err.puts("#{dead_letters.name}: #{done.values.sum} of #{total}")
            end
          end

          def summary(dead_letters, range, outcome)
            where = "#{dead_letters.name}/#{outcome.partition}"
            return "#{where}: nothing to replay" if range.none?

            skipped = ", #{outcome.skipped} left out" if outcome.skipped.positive?
            offsets = " (offsets #{outcome.first} to #{outcome.last})" if outcome.first
            unnoted = ", #{outcome.unnoted} of them not noted: they are replayed again" if noted? && outcome.unnoted.positive?
            "#{where}: #{outcome.replayed} of #{range.size} dead letters replayed#{offsets}#{skipped}#{unnoted}"
          end

          def advice(dead_letters)
            how = noted? ? "guildhall dlq replay --rest --topic #{dead_letters.name}" : "--offsets from the offset after the last one"
            "interrupted; continue with #{how}"
          end
        end
      end
    end
  end
end
