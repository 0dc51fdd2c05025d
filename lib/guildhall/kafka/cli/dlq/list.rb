# frozen_string_literal: true

require_relative "letters_command"
require_relative "../table"

module Guildhall
  module Kafka
    module CLI
      class Dlq < Guildhall::CLI::Command
        # `guildhall dlq list`: what dead letter topics hold.
        class List < LettersCommand
          HEADINGS = %w[LETTER WHEN FROM GROUP ATTEMPTS ERROR BYTES REPLAYED].freeze
          LIMIT = 50

          # (see Guildhall::CLI::Command.summary)
          def self.summary = "Print what dead letter topics hold: where it came from, what went wrong, how often it was tried"

          private

          def define_options(options)
            super
            options.on("-n", "--limit N", Integer, "at most so many, the newest (default: #{LIMIT}; 0: all)")
            options.on("--json", "a line of JSON for each, with key, headers and payload")
            options.separator("\nREPLAYED: whether `guildhall dlq replay` with --all or --rest has come to it.")
          end

          def perform
            topics.each { |topic| Kafka.application.dead_letters(topic) { |letters| list(letters) } }
            nil
          end

          def list(letters)
            ranges = chosen_ranges(letters)
            found = find(letters, ranges)
            replayed = letters.replayed
            if @options[:json]
              found.each { |letter| @out.puts(JSON.encode(data(letter, replayed))) }
            else
              @out.puts(Table.lines(HEADINGS, found.map { |letter| cells(letter, replayed) }))
              @out.puts("#{found.size} of #{ranges.sum { |_, range| range.size }} letters in #{letters.name}")
            end
          end

          def limit
            number = @options.fetch(:limit, LIMIT)
            number.positive? ? number : Float::INFINITY
          end

          # The newest of all partitions; more than that is never kept.
          def find(letters, ranges)
            ranges.flat_map do |partition, range|
              found = []
              letters.each(partition, newest(range)) do |letter|
                found << letter if wanted?(letter)
                found.shift if found.size > limit
              end
              found
            end.sort_by { |letter| letter.time.to_f }.last([limit, 1 << 40].min)
          end

          # Where nothing is left out, those before them need not be read.
          def newest(range)
            filtered? || limit.infinite? ? range : [range.begin, range.end - limit].max...range.end
          end

          def replayed?(letter, replayed)
            letter.offset < (replayed[letter.partition] || 0)
          end

          def cells(letter, replayed)
            [letter, letter.time&.utc&.strftime("%F %T"), letter.source, letter.source_group, letter.attempts, letter.error_class,
             letter.payload&.bytesize || "tombstone", replayed?(letter, replayed) ? "yes" : "no"]
          end

          def data(letter, replayed)
            {"topic" => letter.topic, "partition" => letter.partition, "offset" => letter.offset,
             "time" => letter.time&.utc&.strftime("%FT%T.%LZ"), "source_topic" => letter.source_topic,
             "source_partition" => letter.source_partition, "source_offset" => letter.source_offset,
             "source_consumer_group" => letter.source_group, "attempts" => letter.attempts, "error_class" => letter.error_class,
             "replayed" => replayed?(letter, replayed), **text("key", letter.key), **text("payload", letter.payload),
             "headers" => letter.original_headers.transform_values { |value| [*value].map { |one| readable(one) } }}
          end

          # Bytes that are no text are told in base 64.
          def text(name, bytes)
            readable = bytes && Letter.utf8(bytes)
            return {name => readable} if readable.nil? || readable.encoding == Encoding::UTF_8

            {"#{name}_base64" => [bytes].pack("m0")}
          end

          def readable(bytes)
            Letter.utf8(bytes).encode(Encoding::UTF_8, invalid: :replace, undef: :replace)
          end
        end
      end
    end
  end
end
