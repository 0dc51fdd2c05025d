# frozen_string_literal: true

require "guildhall/printable"
require "guildhall/text_table"
require_relative "../dead_letter_queue/letter_topics"
require_relative "cluster_command"

module Guildhall
  module Kafka
    module CLI
      # `guildhall dlq`: lists, replays and discards dead letters.
      class Dlq < Guildhall::CLI::Family
        def self.summary = "List, show, replay and discard dead letters"
        def self.commands = [List, Show, Replay, Discard]

        # The base of all commands: options that select dead letters.
        class DeadLettersCommand < ClusterCommand
          LETTER = %r{\A(?<topic>.+)/(?<partition>\d+)@(?<offset>\d+)\z}
          MARKS_NOTE = <<~TEXT

            A dead letter is marked once it was replayed or discarded, in the offsets of the group GROUP_ID.replay. Brokers keep them for
            some days (offsets.retention.minutes) after the last change, or after the application, which writes them again, has run last.
            settled: one of these, but the broker has no room to say which.
          TEXT
          private_constant :LETTER, :MARKS_NOTE

          private

          def json? = false
          def arity = 0

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
            @named = arguments.map { |text| LETTER.match(text) || refuse(text) }
            if @named.any? && @options.values_at(:topic, :partition, :offsets).any?
              raise Guildhall::ArgumentError,
                "name dead letters, or choose them by --topic, --partition and --offsets: not both #{see_help}"
            end

            super
          end

          # The topic is an option, because the default is all of them.
          def refuse(argument)
            if arity.positive?
              raise Guildhall::ArgumentError, "a dead letter is named as guildhall dlq list does, such as orders.dead/0@17, not " \
                                              "#{argument} #{see_help}"
            end
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
            rescue KafkaError, NewerFormatError, UnknownTopicError => error
              raise if error.is_a?(UnreachableError) || names.one?

              Broker::Problem.new(group: nil, topic: name, partitions: nil, error:)
            end
            report(problems)
          end

          def topics
            names = @named.any? ? @named.map { |letter| letter[:topic] }.uniq : [*@options[:topic]]
            return names.each { |name| letter_topics.check!(name) } if names.any?
            raise Guildhall::ArgumentError, "which dead letter topic? Name it with --topic #{see_help}" unless application?
            return letter_topics.names if letter_topics.names.any?

            raise Guildhall::ArgumentError, "no route has a dead letter queue with a topic: name one with --topic"
          end

          # Without an application there are no routes.
          def letter_topics
            @letter_topics ||= begin
              routes = application? && Kafka.application.routes.topics.any? ? Kafka.application.validate! : []
              DeadLetterQueue::LetterTopics.new(routes)
            end
          end

          # @return [Hash{Integer=>Array<Integer>}] the offsets of those that are named, by partition
          def named(dead_letters)
            own = @named.select { |letter| letter[:topic] == dead_letters.name }
            own.group_by { |letter| letter[:partition].to_i }.transform_values { |some| some.map { |letter| letter[:offset].to_i } }
          end

          def chosen_ranges(dead_letters)
            return ranges_of_named(dead_letters) if @named.any?

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

          def ranges_of_named(dead_letters)
            named = named(dead_letters)
            there = dead_letters.ranges(*named.keys.select { |number| number < dead_letters.partition_count })
            missing = named.flat_map { |number, offsets| offsets.map { |offset| [number, offset] } }
            missing.reject! { |number, offset| there[number]&.cover?(offset) }
            if missing.any?
              raise Guildhall::ArgumentError, "there is no dead letter #{dead_letters.name}/#{missing.first.join("@")} (any more)"
            end

            named.to_h { |number, offsets| [number, offsets.min...(offsets.max + 1)] }
          end

          # @return [Array(Integer, Integer)] nil for an open end
          def bounds
            text = @options[:offsets]
            match = /\A(?<first>\d+)?(?<dots>\.\.)?(?<last>\d+)?\z/.match(text)
            numbers = match&.values_at(:first, :last)&.map { |number| number && Integer(number, 10) }
            raise Guildhall::ArgumentError, "--offsets takes 7, 7..12, 7.. or ..12, not #{text.inspect}" unless numbers&.any?

            match[:dots] ? numbers : [numbers.first, numbers.first]
          end

          # @return [String] such as "1 dead letter"
          def letters(count) = Printable.count(count, "dead letter")

          def filtered? = !!(@options[:source] || @options[:group] || @options[:error])

          def wanted?(dead_letter)
            return false if @named.any? && !named?(dead_letter)

            {source: dead_letter.source_topic, group: dead_letter.source_group, error: dead_letter.error_class}
              .all? { |name, value| @options[name].nil? || @options[name] == value }
          end

          def named?(dead_letter)
            place = [dead_letter.topic, dead_letter.partition, dead_letter.offset]
            @named.any? { |letter| [letter[:topic], letter[:partition].to_i, letter[:offset].to_i] == place }
          end

          # @return [Hash{Integer=>Broker::LetterMarks}, nil] nil: they are not known; which group keeps them, the application says
          def marks(dead_letters, ranges)
            dead_letters.marks(ranges.keys) if application?
          rescue KafkaError, NewerFormatError => error
            raise if error.is_a?(UnreachableError)

            dead_letters.report(nil, error) && nil
          end

          # For JSON.
          # @param marks [Hash, nil] as of {#marks}
          def data(dead_letter, marks)
            mark = marks && marks[dead_letter.partition]&.of(dead_letter.offset)
            {"topic" => dead_letter.topic, "partition" => dead_letter.partition, "offset" => dead_letter.offset,
             "time" => time(dead_letter.time, "%FT%T.%LZ"), "source_topic" => dead_letter.source_topic,
             "source_partition" => dead_letter.source_partition, "source_offset" => dead_letter.source_offset,
             "source_consumer_group" => dead_letter.source_group, "attempts" => dead_letter.attempts,
             "first_failed_at" => time(dead_letter.first_failed_at, "%FT%T.%LZ"),
             "error_class" => dead_letter.error_class, "error_place" => dead_letter.error_place,
             "error_message" => dead_letter.error_message,
             "replayed" => marks && mark == :replayed, "mark" => mark&.name,
             **text("key", dead_letter.key), **text("payload", dead_letter.payload),
             **MessageFormat::Text.headers(dead_letter.original_headers)}
          end
        end

        # `guildhall dlq list`: prints dead letters.
        class List < DeadLettersCommand
          HEADINGS = ["DEAD LETTER", "WHEN", "FROM", "GROUP", "ATTEMPTS", "ERROR", "AT", "BYTES", "MARK"].freeze
          LIMIT = 50

          def self.summary = "Print dead letters: source, error, number of attempts"

          private

          def define_options(options)
            super
            options.on("-n", "--limit N", Integer, "how many at most, the newest (default: #{LIMIT}; 0: all)")
            options.on("--open", "only those that were neither replayed nor discarded")
            options.on("--json", "a line of JSON for each, with key, headers and payload")
            options.separator("\nAT: the first place in the application's code where the error came from. MARK: ? if that is not known.\n" \
                              "#{MARKS_NOTE}\n#{PARTIAL_NOTE}")
          end

          def call(arguments)
            raise Guildhall::ArgumentError, "--limit must be 0 or more, not #{@options[:limit]} #{see_help}" if @options[:limit]&.negative?

            super
          end

          def perform
            if @options[:open] && !application?
              raise Guildhall::ArgumentError, "--open needs the application (-r ./app.rb), whose GROUP_ID.replay has the marks #{see_help}"
            end

            each_topic do |dead_letters|
              ranges = chosen_ranges(dead_letters)
              @marks = marks(dead_letters, ranges)
              found = newest(dead_letters, ranges)
              print_rows(found)
              next if @options[:json]

              @out.puts("#{found.size} of #{letters(ranges.sum { |_, range| range.size })} in #{dead_letters.name}")
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
            range = [range.begin, range.end - limit].max...range.end unless filtered? || @options[:open]
            found = []
            dead_letters.each(partition, range) do |dead_letter|
              found << dead_letter if wanted?(dead_letter) && !(@options[:open] && mark(dead_letter))
              found.shift if found.size > limit
            end
            found
          rescue KafkaError => error
            raise if error.is_a?(UnreachableError)

            dead_letters.report(partition, error)
            found
          end

          def mark(dead_letter) = @marks && @marks[dead_letter.partition]&.of(dead_letter.offset)

          def cells(dead_letter)
            place = dead_letter.error_place && Printable.words(dead_letter.error_place[/\A.+?:\d+/] || dead_letter.error_place, 200)
            [dead_letter, time(dead_letter.time), dead_letter.source, dead_letter.source_group, dead_letter.attempts,
             dead_letter.error_class, place, dead_letter.payload&.bytesize || "tombstone", @marks ? (mark(dead_letter)&.name || "-") : "?"]
          end

          def data(dead_letter) = super(dead_letter, @marks)
        end

        # `guildhall dlq show`: all of some dead letters.
        class Show < DeadLettersCommand
          MAX_PAYLOAD_CHARACTERS = 20_000

          def self.summary = "Print all that is known of some dead letters"
          def self.arguments = "LETTER…"

          private

          def arity = Float::INFINITY

          def define_options(options)
            super
            options.on("--json", "a line of JSON for each")
            options.separator("\nLETTER: as `guildhall dlq list` prints it, such as orders.dead/0@17\n#{MARKS_NOTE}")
          end

          def perform
            unless @named.any? || @options[:offsets]
              raise Guildhall::ArgumentError, "which one? Name it, such as guildhall dlq show orders.dead/0@17 #{see_help}"
            end

            each_topic do |dead_letters|
              ranges = chosen_ranges(dead_letters)
              marks = marks(dead_letters, ranges)
              ranges.each do |partition, range|
                dead_letters.each(partition, range) do |letter|
                  next unless wanted?(letter)

                  @options[:json] ? print_json(data(letter, marks)) : @out.puts(lines(letter, marks), "")
                end
              end
            end
          end

          def lines(letter, marks)
            rows = [["mark", marks ? (marks[letter.partition]&.of(letter.offset)&.name || "-") : "?"],
                    ["from", "#{letter.source}, group #{letter.source_group || "-"}"],
                    ["dead since", "#{time(letter.time)} UTC, after #{letter.attempts || "?"} attempts, the first at " \
                                   "#{time(letter.first_failed_at) || "?"}"],
                    ["error", [letter.error_class, letter.error_message].compact.join(": ")], ["at", letter.error_place],
                    ["key", letter.key && Printable.words(Printable.utf8(letter.key.b), 200)],
                    *letter.original_headers.map do |name, value|
                      ["header #{Printable.utf8(name)}", [*value].map { |one| one.to_s.b }.join(", ")]
                    end,
                    ["payload", letter.payload ? "#{letter.payload.bytesize} bytes" : "none: a tombstone"]]
            [letter.to_s, *TextTable.lines(rows.map { |name, value| ["  #{name}", value] }), *payload(letter.payload)]
          end

          def payload(bytes)
            return if bytes.nil?
            return Printable.bytes(bytes, MAX_PAYLOAD_CHARACTERS) unless MessageFormat::Text.readable?(bytes)

            MessageFormat::Text.utf8(bytes)[0, MAX_PAYLOAD_CHARACTERS].lines(chomp: true).map { |line| Printable.words(line, MAX_PAYLOAD_CHARACTERS) }
          end
        end

        # The base of those that mark dead letters: the application says which group keeps the marks.
        class MarkingCommand < DeadLettersCommand
          def self.arguments = "[LETTER…]"

          private

          def cluster_alone? = false
          def arity = Float::INFINITY

          def define_options(options)
            super
            options.on("--dry-run", "only print how many")
          end

          def dry_run? = @options[:"dry-run"]
        end

        # `guildhall dlq replay`: sends dead letters back to their topics.
        class Replay < MarkingCommand
          PROGRESS_INTERVAL_SECONDS = 2 # between two lines of progress
          NOTES = <<~TEXT.freeze

            LETTERs (as `guildhall dlq list` prints them), or one of --all, --rest and --offsets, say what to replay. Bytes, key and
            headers are those of the message as it was, and so is the partition; dead letters stay in the dead letter topic. Only what
            is there at the start is replayed, so that what fails again is not replayed for ever.

            Each hundred are sent and marked as replayed in one transaction: interrupted (Ctrl-C ends the hundred at hand first) or
            killed, --rest goes on there, and nothing is replayed twice. After a kill, consumers may wait for up to 30 s for the
            transaction to end; those with isolation.level read_uncommitted also see messages of one that was not committed. --rest
            leaves out what is marked, --all what was discarded; what is named, or chosen by --offsets, is replayed whatever its mark.
            Every consumer group of the topic consumes what is replayed, also those that had handled it.
            It needs the application, whose GROUP_ID that is; --brokers and --profile name another cluster of it.
            #{MARKS_NOTE}
          TEXT

          def self.summary = "Send dead letters back to their topics"

          private

          def define_options(options)
            super
            options.on("--all", "everything, from the beginning")
            options.on("--rest", "all that were neither replayed nor discarded")
            options.on("--to TOPIC", "to this topic instead; its partitioner chooses the partition")
            options.separator(NOTES)
          end

          def perform
            unless [*@options.values_at(:all, :rest, :offsets), @named.any?].one?
              raise Guildhall::ArgumentError, "say what to replay with one of --all, --rest and --offsets, or name dead letters #{see_help}"
            end

            status = each_topic { |dead_letters| replay(dead_letters) }
            return 130 if @interrupted

            @named.any? && @left_out ? 1 : status
          end

          def replay(dead_letters)
            ranges = ranges_to_replay(dead_letters)
            replay = Broker::Replay.new(dead_letters, to: @options[:to], except:, again:) { |letter| wanted?(letter) }
            return announce(dead_letters, replay.dry_run(ranges)) if dry_run?

            progress = progress(dead_letters, ranges)
            outcomes = {}
            interruptible(-> { replay.interrupt }) { replay.run(ranges) { |outcome| progress.call(outcomes[outcome.partition] = outcome) } }
          ensure
            outcomes&.each_value { |outcome| @out.puts(summary(dead_letters, ranges.fetch(outcome.partition), outcome)) }
            report_left_out(dead_letters, outcomes.values) if outcomes
            @out.puts(advice(dead_letters)) if replay&.interrupted?
          end

          # Other tools' dead letters.
          def report_left_out(dead_letters, outcomes)
            number = outcomes.sum(&:without_source)
            return if number.zero?

            @left_out = true
            have, were = number == 1 ? %w[has was] : %w[have were]
            @err.puts("guildhall: #{letters(number)} of #{dead_letters.name} #{have} no header that says which topic to replay to, and " \
                      "#{were} left out: name one with --to TOPIC")
          end

          # @return [Array<Symbol>] the marks of what is left out
          def except
            return Broker::LetterMarks::MARKS if @options[:rest]

            @options[:all] ? %i[discarded] : []
          end

          # Whether --rest is to go on behind what this replay has come to, also where all was replayed before.
          def again = @options[:all] == true && !filtered? && @options[:partition].nil?

          def ranges_to_replay(dead_letters)
            ranges = chosen_ranges(dead_letters)
            return ranges unless @options[:rest]

            marks = dead_letters.marks(ranges.keys)
            unless marks.values.any?(&:known?) || ranges.values.all?(&:none?)
              raise Guildhall::ArgumentError, "nothing of #{dead_letters.name} was replayed yet, or so long ago that the broker has " \
                                              "forgotten it: use --all the first time, and --rest from then on"
            end

            ranges.to_h { |partition, range| [partition, marks[partition].position.clamp(range.begin, range.end)...range.end] }
          end

          def announce(dead_letters, outcomes)
            @out.puts("#{dead_letters.name}: #{letters(outcomes.sum(&:done))} would be replayed#{" to #{@options[:to]}" if @options[:to]}")
            report_left_out(dead_letters, outcomes)
          end

          def progress(dead_letters, ranges)
            total = ranges.sum { |_, range| range.size }
            reported_at = Clock.now
            done = Hash.new(0)
            lambda do |outcome|
              done[outcome.partition] = outcome.done + outcome.skipped
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
            "#{where}: #{outcome.done} of #{letters(range.size)} replayed#{offsets}#{skipped}"
          end

          def advice(dead_letters)
            return "interrupted; continue with --offsets from the offset after the last one" if @named.any? || @options[:offsets]

            "interrupted; continue with guildhall dlq replay --rest --topic #{dead_letters.name}#{" and the same filters" if filtered?}"
          end
        end

        # `guildhall dlq discard`: marks dead letters that are not to be replayed.
        class Discard < MarkingCommand
          NOTES = <<~TEXT.freeze

            LETTER: as `guildhall dlq list` prints it. They stay in the dead letter topic as long as its retention says. What was
            replayed keeps its mark. To take it back, replay them by name. It needs the application, whose GROUP_ID that is.
            #{MARKS_NOTE}
          TEXT

          def self.summary = "Mark dead letters as discarded: `replay --rest` and `--all` leave them out"

          private

          def wanted?(letter) = super.tap { |wanted| letter_topics.check_letter!(letter) if wanted }

          def define_options(options)
            super
            options.on("--all", "all that were not replayed")
            options.separator(NOTES)
          end

          def perform
            unless [@options[:all], @options[:offsets], @named.any?].one?
              raise Guildhall::ArgumentError, "say what to discard with one of --all and --offsets, or name dead letters #{see_help}"
            end

            each_topic do |dead_letters|
              discard = Broker::Discard.new(dead_letters) { |letter| wanted?(letter) }
              ranges = chosen_ranges(dead_letters)
              found = (dry_run? ? discard.dry_run(ranges) : discard.run(ranges)).sum(&:done)
              marked = ", those that are marked already stay as they are" if found.zero? && @named.any?
              verb = dry_run? ? "would be" : (found == 1 ? "was" : "were")
              @out.puts("#{dead_letters.name}: #{letters(found)} #{verb} discarded#{marked}")
            end
          end
        end
      end
    end
  end
end
