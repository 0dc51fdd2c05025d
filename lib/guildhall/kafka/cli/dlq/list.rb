# frozen_string_literal: true

require "guildhall/text_table"
require_relative "dead_letters_command"

module Guildhall
  module Kafka
    module CLI
      class Dlq < Guildhall::CLI::Command
        # `guildhall dlq list`: what dead letter topics hold.
        class List < DeadLettersCommand
          HEADINGS = ["DEAD LETTER", "WHEN", "FROM", "GROUP", "ATTEMPTS", "ERROR", "BYTES", "REPLAYED"].freeze
          LIMIT = 50

          # (see Guildhall::CLI::Command.summary)
          def self.summary = "Print dead letters: source, error, number of attempts"

          private

          def define_options(options)
            super
            options.on("-n", "--limit N", Integer, "how many at most, the newest (default: #{LIMIT}; 0: all)")
            options.on("--json", "a line of JSON for each, with key, headers and payload")
            options.separator("\nREPLAYED: whether `guildhall dlq replay` with --all or --rest has replayed it; ? if that is not known.\n" \
                              "Topics and partitions that could not be queried are listed on standard error; the exit status is " \
                              "#{PARTIAL} then.")
          end

          def call(arguments)
            raise Guildhall::ArgumentError, "--limit must be 0 or more, not #{@options[:limit]} #{see_help}" if @options[:limit]&.negative?

            super
          end

          def perform
            each_topic { |dead_letters| list(dead_letters) }
          end

          def list(dead_letters)
            ranges = chosen_ranges(dead_letters)
            found = find(dead_letters, ranges)
            replayed = replayed(dead_letters)
            if @options[:json]
              found.each { |dead_letter| @out.puts(JSON.encode(data(dead_letter, replayed))) }
            else
              @out.puts(TextTable.lines([HEADINGS, *found.map { |dead_letter| cells(dead_letter, replayed) }]))
              @out.puts("#{found.size} of #{ranges.sum { |_, range| range.size }} dead letters in #{dead_letters.name}")
            end
          end

          def limit
            number = @options.fetch(:limit, LIMIT)
            number.positive? ? number : Float::INFINITY
          end

          # @return [Hash{Integer=>Integer, nil}, nil] nil: it is not known
          def replayed(dead_letters)
            dead_letters.replayed
          rescue UnreachableError
            raise
          rescue KafkaError => error
            dead_letters.report(nil, error) && nil
          end

          # The newest of all partitions; more than that is never kept.
          def find(dead_letters, ranges)
            ranges.flat_map do |partition, range|
              found = []
              dead_letters.each(partition, newest(range)) do |dead_letter|
                found << dead_letter if wanted?(dead_letter)
                found.shift if found.size > limit
              end
              found
            rescue UnreachableError
              raise
            rescue KafkaError => error
              dead_letters.report(partition, error)
              found
            end.sort_by { |dead_letter| dead_letter.time.to_f }.last([limit, 1 << 40].min)
          end

          # Without a filter, only the last `limit` messages need to be read.
          def newest(range)
            filtered? || limit.infinite? ? range : [range.begin, range.end - limit].max...range.end
          end

          # @return [Boolean, nil] nil: it is not known
          def replayed?(dead_letter, replayed)
            replayed && dead_letter.offset < (replayed[dead_letter.partition] || 0)
          end

          def cells(dead_letter, replayed)
            [dead_letter, dead_letter.time&.utc&.strftime("%F %T"), dead_letter.source, dead_letter.source_group, dead_letter.attempts,
             dead_letter.error_class, dead_letter.payload&.bytesize || "tombstone",
             {true => "yes", false => "no", nil => "?"}.fetch(replayed?(dead_letter, replayed))]
          end

          def data(dead_letter, replayed)
            {"topic" => dead_letter.topic, "partition" => dead_letter.partition, "offset" => dead_letter.offset,
             "time" => dead_letter.time&.utc&.strftime("%FT%T.%LZ"), "source_topic" => dead_letter.source_topic,
             "source_partition" => dead_letter.source_partition, "source_offset" => dead_letter.source_offset,
             "source_consumer_group" => dead_letter.source_group, "attempts" => dead_letter.attempts,
             "error_class" => dead_letter.error_class, "replayed" => replayed?(dead_letter, replayed),
             **text("key", dead_letter.key), **text("payload", dead_letter.payload),
             **headers(dead_letter.original_headers)}
          end

          # A header may have several values, and no value; its name may be any bytes. Those with a value that is not valid text are apart.
          def headers(all)
            binary, readable = all.partition { |_, value| values(value).any? { |one| one && !text?(one) } }
            printed = {"headers" => readable.to_h { |name, value| [printable(name), values(value).map { |one| one && utf8(one) }] }}
            return printed if binary.empty?

            encoded = binary.to_h { |name, value| [printable(name), values(value).map { |one| one && [one].pack("m0") }] }
            {**printed, "headers_base64" => encoded}
          end

          def values(value) = value.is_a?(Array) ? value : [value]
          def utf8(bytes) = DeadLetterQueue::DeadLetter.utf8(bytes)
          def text?(bytes) = utf8(bytes).encoding == Encoding::UTF_8
          def printable(name) = utf8(name).encode(Encoding::UTF_8, invalid: :replace, undef: :replace)
        end
      end
    end
  end
end
