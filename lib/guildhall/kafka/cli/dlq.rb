# frozen_string_literal: true

require_relative "cluster_command"

module Guildhall
  module Kafka
    module CLI
      # `guildhall dlq`: lists and replays dead letters.
      class Dlq < Guildhall::CLI::Family
        def self.summary = "List and replay dead letters"
        def self.commands = [List, Replay]

        # The base of both commands: options that select dead letters.
        class DeadLettersCommand < ClusterCommand
          private

          def json? = false

          def define_options(options)
            super
            options.on("-t", "--topic NAME", "the dead letter topic (default: those in the routes)")
            options.on("--partition N", Integer, "only this partition of it")
            options.on("--offsets RANGE", "only these: 7, 7..12, 7.. or ..12, by their offsets in the dead letter topic")
            options.on("--source TOPIC", "only dead letters from this topic")
            options.on("--group NAME", "only dead letters of this consumer group")
            options.on("--error CLASS", "only dead letters with this error class")
          end

          def call(arguments)
            bounds if @options[:offsets] # before a broker is asked
            super
          end

          # The topic is an option, because the default is all of them.
          def refuse(argument)
            raise Guildhall::ArgumentError, "unexpected argument: #{argument}; to name a dead letter topic: --topic #{argument} #{see_help}"
          end

          # If a topic cannot be queried, the others are, all the same. Returns the exit status.
          def each_topic
            names = topics
            problems = names.flat_map do |name|
              next [] if @interrupted

              Kafka.application.dead_letters(name) do |dead_letters|
                yield dead_letters
                dead_letters.problems
              end
            rescue KafkaError, UnknownTopicError => error
              raise if error.is_a?(UnreachableError) || names.one?

              Broker::Problem.new(group: nil, topic: name, partitions: nil, error:)
            end
            report(problems)
          end

          def topics
            return [@options[:topic]] if @options[:topic]
            raise Guildhall::ArgumentError, "which dead letter topic? Name it with --topic #{see_help}" unless application?

            routed = Kafka.application.validate!.filter_map { |route| route.dead_letter_queue&.topic || nil }.uniq
            return routed if routed.any?

            raise Guildhall::ArgumentError, "no route has a dead letter queue with a topic: name one with --topic"
          end

          def chosen_ranges(dead_letters)
            number = @options[:partition]
            unless number.nil? || number.between?(0, dead_letters.partition_count - 1)
              raise Guildhall::ArgumentError, "#{dead_letters.name} has no partition #{number}: it has #{dead_letters.partition_count}"
            end

            ranges = dead_letters.ranges(*number)
            return ranges unless @options[:offsets]

            first, last = bounds
            ranges.transform_values do |range|
              from = [first || range.begin, range.begin].max
              from...(last ? last + 1 : range.end).clamp(from, [range.end, from].max)
            end
          end

          # @return [Array(Integer, Integer)] nil for an open end
          def bounds
            text = @options[:offsets]
            match = /\A(?<first>\d+)?(?<dots>\.\.)?(?<last>\d+)?\z/.match(text)
            numbers = match&.values_at(:first, :last)&.map { |number| number && Integer(number, 10) }
            raise Guildhall::ArgumentError, "--offsets takes 7, 7..12, 7.. or ..12, not #{text.inspect}" unless numbers&.any?

            match[:dots] ? numbers : [numbers.first, numbers.first]
          end

          def filtered? = !!(@options[:source] || @options[:group] || @options[:error])

          def wanted?(dead_letter)
            {source: dead_letter.source_topic, group: dead_letter.source_group, error: dead_letter.error_class}
              .all? { |name, value| @options[name].nil? || @options[name] == value }
          end
        end

        # `guildhall dlq list`: prints dead letters.
        class List < DeadLettersCommand
          HEADINGS = ["DEAD LETTER", "WHEN", "FROM", "GROUP", "ATTEMPTS", "ERROR", "BYTES", "REPLAYED"].freeze
          LIMIT = 50

          def self.summary = "Print dead letters: source, error, number of attempts"

          private

          def define_options(options)
            super
            options.on("-n", "--limit N", Integer, "how many at most, the newest (default: #{LIMIT}; 0: all)")
            options.on("--json", "a line of JSON for each, with key, headers and payload")
            options.separator("\nREPLAYED: whether `guildhall dlq replay` with --all or --rest has replayed it; ? if that is not known.\n" \
                              "#{PARTIAL_NOTE}")
          end

          def call(arguments)
            raise Guildhall::ArgumentError, "--limit must be 0 or more, not #{@options[:limit]} #{see_help}" if @options[:limit]&.negative?

            super
          end

          def perform
            each_topic do |dead_letters|
              ranges = chosen_ranges(dead_letters)
              found = newest(dead_letters, ranges)
              @replayed = replayed(dead_letters)
              print_rows(found)
              next if @options[:json]

              @out.puts("#{found.size} of #{ranges.sum { |_, range| range.size }} dead letters in #{dead_letters.name}")
            end
          end

          # Of each partition no more than the limit is kept in memory.
          def newest(dead_letters, ranges)
            limit = @options.fetch(:limit, LIMIT)
            limit = 1 << 40 if limit.zero? # all
            found = ranges.flat_map { |partition, range| newest_of_partition(dead_letters, partition, range, limit) }
            found.sort_by { |dead_letter| dead_letter.time.to_f }.last(limit)
          end

          def newest_of_partition(dead_letters, partition, range, limit)
            # Without a filter, only the last ones need to be read.
            range = [range.begin, range.end - limit].max...range.end unless filtered?
            found = []
            dead_letters.each(partition, range) do |dead_letter|
              found << dead_letter if wanted?(dead_letter)
              found.shift if found.size > limit
            end
            found
          rescue KafkaError => error
            raise if error.is_a?(UnreachableError)

            dead_letters.report(partition, error)
            found
          end

          # @return [Hash{Integer=>Integer, nil}, nil] nil: it is not known; which group keeps it, the application says
          def replayed(dead_letters)
            dead_letters.replayed if application?
          rescue KafkaError => error
            raise if error.is_a?(UnreachableError)

            dead_letters.report(nil, error) && nil
          end

          # @return [Boolean, nil] nil: it is not known
          def replayed?(dead_letter)
            @replayed && dead_letter.offset < (@replayed[dead_letter.partition] || 0)
          end

          def cells(dead_letter)
            [dead_letter, time(dead_letter.time), dead_letter.source, dead_letter.source_group, dead_letter.attempts,
             dead_letter.error_class, dead_letter.payload&.bytesize || "tombstone",
             {true => "yes", false => "no", nil => "?"}.fetch(replayed?(dead_letter))]
          end

          def data(dead_letter)
            {"topic" => dead_letter.topic, "partition" => dead_letter.partition, "offset" => dead_letter.offset,
             "time" => time(dead_letter.time, "%FT%T.%LZ"), "source_topic" => dead_letter.source_topic,
             "source_partition" => dead_letter.source_partition, "source_offset" => dead_letter.source_offset,
             "source_consumer_group" => dead_letter.source_group, "attempts" => dead_letter.attempts,
             "error_class" => dead_letter.error_class, "replayed" => replayed?(dead_letter),
             **text("key", dead_letter.key), **text("payload", dead_letter.payload),
             **MessageFormat::Text.headers(dead_letter.original_headers)}
          end
        end

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
            It needs the application, whose GROUP_ID that is; --brokers and --profile name another cluster of it.
          TEXT

          def self.summary = "Send dead letters back to their topics"

          private

          def cluster_alone? = false

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
            @interrupted ? 130 : status
          end

          def replay(dead_letters)
            ranges = ranges_to_replay(dead_letters)
            return count(dead_letters, ranges) if @options[:"dry-run"]

            replay = Broker::Replay.new(dead_letters, Kafka.config, to: @options[:to], note: noted?) { |dead_letter| wanted?(dead_letter) }
            progress = progress(dead_letters, ranges)
            outcomes = {}
            interruptible(-> { replay.interrupt }) { replay.run(ranges) { |outcome| progress.call(outcomes[outcome.partition] = outcome) } }
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
