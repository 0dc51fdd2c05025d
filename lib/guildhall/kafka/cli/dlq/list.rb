# frozen_string_literal: true

require_relative "dead_letters_command"

module Guildhall
  module Kafka
    module CLI
      class Dlq < Guildhall::CLI::Command
        # `guildhall dlq list`: prints dead letters.
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
            limit = Float::INFINITY if limit.zero?
            found = ranges.flat_map { |partition, range| newest_of_partition(dead_letters, partition, range, limit) }
            found.sort_by { |dead_letter| dead_letter.time.to_f }.last([limit, 1 << 40].min)
          end

          def newest_of_partition(dead_letters, partition, range, limit)
            # Without a filter, only the last ones need to be read.
            range = [range.begin, range.end - limit].max...range.end unless filtered? || limit.infinite?
            found = []
            dead_letters.each(partition, range) do |dead_letter|
              found << dead_letter if wanted?(dead_letter)
              found.shift if found.size > limit
            end
            found
          rescue UnreachableError
            raise
          rescue KafkaError => error
            dead_letters.report(partition, error)
            found
          end

          # @return [Hash{Integer=>Integer, nil}, nil] nil: it is not known
          def replayed(dead_letters)
            dead_letters.replayed
          rescue UnreachableError
            raise
          rescue KafkaError => error
            dead_letters.report(nil, error) && nil
          end

          # @return [Boolean, nil] nil: it is not known
          def replayed?(dead_letter)
            @replayed && dead_letter.offset < (@replayed[dead_letter.partition] || 0)
          end

          def cells(dead_letter)
            [dead_letter, dead_letter.time&.utc&.strftime("%F %T"), dead_letter.source, dead_letter.source_group, dead_letter.attempts,
             dead_letter.error_class, dead_letter.payload&.bytesize || "tombstone",
             {true => "yes", false => "no", nil => "?"}.fetch(replayed?(dead_letter))]
          end

          def data(dead_letter)
            {"topic" => dead_letter.topic, "partition" => dead_letter.partition, "offset" => dead_letter.offset,
             "time" => dead_letter.time&.utc&.strftime("%FT%T.%LZ"), "source_topic" => dead_letter.source_topic,
             "source_partition" => dead_letter.source_partition, "source_offset" => dead_letter.source_offset,
             "source_consumer_group" => dead_letter.source_group, "attempts" => dead_letter.attempts,
             "error_class" => dead_letter.error_class, "replayed" => replayed?(dead_letter),
             **text("key", dead_letter.key), **text("payload", dead_letter.payload),
             **headers(dead_letter.original_headers)}
          end

          # A header may have several values, and no value; its name may be any bytes. Headers whose values are not valid text are apart.
          def headers(all)
            binary, readable = all.transform_values { |value| value.is_a?(Array) ? value : [value] }
              .partition { |_, values| values.any? { |value| value && utf8(value).encoding != Encoding::UTF_8 } }
            printed = {"headers" => readable.to_h { |name, values| [printable(name), values.map { |value| value && utf8(value) }] }}
            return printed if binary.empty?

            encoded = binary.to_h { |name, values| [printable(name), values.map { |value| value && [value].pack("m0") }] }
            {**printed, "headers_base64" => encoded}
          end

          def utf8(bytes) = DeadLetterQueue::DeadLetter.utf8(bytes)

          def printable(name) = utf8(name).encode(Encoding::UTF_8, invalid: :replace, undef: :replace)
        end
      end
    end
  end
end
