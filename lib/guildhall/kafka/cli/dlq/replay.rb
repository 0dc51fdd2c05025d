# frozen_string_literal: true

require_relative "letters_command"

module Guildhall
  module Kafka
    module CLI
      class Dlq < Guildhall::CLI::Command
        # `guildhall dlq replay`: another try for what dead letter topics hold.
        class Replay < LettersCommand
          PAUSE = 2 # seconds between two lines of progress
          NOTES = <<~TEXT

            One of --all, --rest and --offsets says what to replay. Bytes, key and headers are those of the message as it
            was, and so is the partition; letters stay in the dead letter topic. Only what is there at the start is
            replayed, so that what fails again is not replayed for ever.

            How far --all and --rest have come is kept at the broker (as an offset of the group GROUP_ID.replay) after each
            hundred letters, which were confirmed by then: interrupted (Ctrl-C ends the hundred at hand first) or killed,
            --rest goes on there, and at most a hundred are replayed twice. With --source, --error or --offsets nothing is
            kept.
          TEXT

          # (see Guildhall::CLI::Command.summary)
          def self.summary = "Send letters back to where they came from"

          private

          def define_options(options)
            super
            options.on("--all", "everything, from the beginning")
            options.on("--rest", "what comes after the last one that was replayed")
            options.on("--to TOPIC", "to this topic, whatever they came from; its partitioner decides")
            options.on("--dry-run", "only say how many")
            options.separator(NOTES)
          end

          def perform
            check_options
            topics.each do |topic|
              break if @interrupted

              Kafka.application.dead_letters(topic) { |letters| replay(letters) }
            end
            @interrupted ? 1 : 0
          end

          def check_options
            return if @options.values_at(:all, :rest, :offsets).one?

            raise Guildhall::ArgumentError, "say what to replay with one of --all, --rest and --offsets (guildhall dlq replay --help)"
          end

          def replay(letters)
            ranges = ranges_to_replay(letters)
            return count(letters, ranges) if @options[:"dry-run"]

            replay = Kafka::Replay.new(letters, Kafka.config, to: @options[:to], note: noted?) { |letter| wanted?(letter) }
            progress = progress(letters, ranges)
            outcomes = {}
            interruptible(replay) { replay.run(ranges) { |outcome| progress.call(outcomes[outcome.partition] = outcome) } }
          ensure
            outcomes&.each_value { |outcome| @out.puts(summary(letters, ranges.fetch(outcome.partition), outcome)) }
            @out.puts(advice(letters)) if replay&.interrupted?
          end

          def noted?
            !@options[:offsets] && !filtered?
          end

          def ranges_to_replay(letters)
            ranges = chosen_ranges(letters)
            return ranges unless @options[:rest]

            replayed = letters.replayed
            unless replayed.values.any?
              raise Guildhall::ArgumentError, "nothing of #{letters.name} was replayed yet, or so long ago that the broker has " \
                                              "forgotten: use --all or --offsets"
            end

            ranges.to_h { |partition, range| [partition, (replayed[partition] || 0).clamp(range.begin, range.end)...range.end] }
          end

          def count(letters, ranges)
            found = ranges.sum do |partition, range|
              wanted = 0
              letters.each(partition, range) { |letter| wanted += 1 if wanted?(letter) }
              wanted
            end
            @out.puts("#{letters.name}: #{found} letters would be replayed#{" to #{@options[:to]}" if @options[:to]}")
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

          def progress(letters, ranges)
            total = ranges.sum { |_, range| range.size }
            told = Clock.now
            done = Hash.new(0)
            lambda do |outcome|
              done[outcome.partition] = outcome.replayed + outcome.skipped
              next if Clock.now - told < PAUSE

              told = Clock.now
              @err.puts("#{letters.name}: #{done.values.sum} of #{total}")
            end
          end

          def summary(letters, range, outcome)
            where = "#{letters.name}/#{outcome.partition}"
            return "#{where}: nothing to replay" if range.none?

            skipped = ", #{outcome.skipped} left out" if outcome.skipped.positive?
            offsets = " (offsets #{outcome.first} to #{outcome.last})" if outcome.first
            "#{where}: #{outcome.replayed} of #{range.size} letters replayed#{offsets}#{skipped}"
          end

          def advice(letters)
            how = noted? ? "guildhall dlq replay --rest --topic #{letters.name}" : "--offsets from the offset after the last one"
            "interrupted; go on with #{how}"
          end
        end
      end
    end
  end
end
