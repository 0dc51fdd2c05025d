# frozen_string_literal: true

require "io/console"
require "guildhall/printable"
require "guildhall/suggestion"
require_relative "../dead_letter_queue/dead_letter"

module Guildhall
  module Kafka
    module CLI
      # How `guildhall read` prints a message.
      module MessageFormat
        NAMES = %w[table json raw].freeze

        # @param text [String] one of {NAMES}, or a format such as "%p %o %v\n"
        # @raise [Guildhall::ArgumentError] where it is neither
        def self.of(text, out)
          case text
          when "table" then Table.new(out)
          when "json" then Lines.new
          when "raw" then Custom.new("%v\\n")
          when /%/ then Custom.new(text)
          else
            raise Guildhall::ArgumentError, "--format is #{NAMES.join(", ")}, or a text such as '%p %o %v\\n', not #{text.inspect}" \
                                            "#{Suggestion.for(text, NAMES)}"
          end
        end

        # For JSON: bytes that are not valid text are printed in base 64.
        module Text
          def self.utf8(bytes) = DeadLetterQueue::DeadLetter.utf8(bytes.b)
          def self.readable?(bytes) = utf8(bytes).encoding == Encoding::UTF_8

          # @return [Hash{String=>String, nil}]
          def self.member(name, bytes)
            return {name => bytes && utf8(bytes)} if bytes.nil? || readable?(bytes)

            {"#{name}_base64" => [bytes].pack("m0")}
          end

          # A header may have several values, and no value; its name may be any bytes. Headers whose values are not valid text are apart.
          # @return [Hash{String=>Hash}]
          def self.headers(all)
            binary, readable = all.transform_values { |value| value.is_a?(Array) ? value : [value] }
              .partition { |_, values| values.any? { |value| value && !readable?(value) } }
            printed = {"headers" => readable.to_h { |name, values| [printable(name), values.map { |value| value && utf8(value) }] }}
            return printed if binary.empty?

            encoded = binary.to_h { |name, values| [printable(name), values.map { |value| value && [value].pack("m0") }] }
            {**printed, "headers_base64" => encoded}
          end

          def self.printable(name) = utf8(name).encode(Encoding::UTF_8, invalid: :replace, undef: :replace)
        end

        # Why a payload could not be decoded, for people.
        def self.reason(failure) = Printable.words("#{failure.exception.class.name.split("::").last}: #{failure.exception.message}", 300)

        # A line of JSON for each message, which `guildhall produce --json-lines` takes.
        class Lines
          def decodes? = true
          def heading = nil

          def line(found)
            record = found.record
            {"topic" => record.topic, "partition" => record.partition, "offset" => record.offset, "timestamp" => record.timestamp_ms,
             "time" => record.timestamp&.utc&.strftime("%FT%T.%LZ"), **Text.member("key", record.key),
             **Text.headers(record.headers), **source(record), **Text.member("payload", record.raw_payload), **outcome(found)}
              .then { |data| encode(data) << "\n" }
          end

          private

          # What a codec makes may be more than JSON has a form for: then it is left out.
          def encode(data)
            +JSON.encode(data)
          rescue EncodeError
            +JSON.encode(data.except("value"))
          end

          def outcome(found)
            return {"error" => MessageFormat.reason(found.failure)} if found.failure

            value = found.payload
            value.nil? ? {} : {"value" => value}
          end

          def source(record)
            letter = DeadLetterQueue::DeadLetter.from(record)
            return {} unless letter.source_topic

            {"source" => {"topic" => letter.source_topic, "partition" => letter.source_partition, "offset" => letter.source_offset,
                          "consumer_group" => letter.source_group, "attempts" => letter.attempts, "error_class" => letter.error_class,
                          "error_place" => letter.error_place, "error_message" => letter.error_message,
                          "first_failed_at" => letter.first_failed_at&.utc&.strftime("%FT%T.%LZ")}}
          end
        end

        # Columns that do not depend on what follows: rows are printed as messages are found. In a narrow terminal the payload has a line
        # of its own; elsewhere than in a terminal it is not cut.
        class Table
          COLUMNS = [["PARTITION", 9], ["OFFSET", 10], ["TIME", 23], ["KEY", 20]].freeze
          NARROW = 100 # columns
          UNLIMITED = 1 << 40
          private_constant :COLUMNS, :NARROW, :UNLIMITED

          def initialize(out)
            @width = out.winsize.last if out.respond_to?(:winsize) && out.tty?
            @width = nil if @width&.zero?
          end

          def decodes? = true

          def heading = @width && narrow? ? nil : "#{row(COLUMNS.map(&:first))}  PAYLOAD\n"

          def line(found)
            record = found.record
            cells = [record.partition, record.offset, record.timestamp&.utc&.strftime("%F %T.%L"), shown(record.key, COLUMNS.last.last)]
            payload = payload(found)
            return "#{cells.map { |cell| cell || "-" }.join("  ")}\n  #{cut(payload, @width - 2)}\n#{notes(found)}" if narrow?

            left = row(cells)
            "#{left}  #{cut(payload, @width && (@width - left.size - 2))}\n#{notes(found)}"
          end

          private

          def narrow? = !@width.nil? && @width < NARROW

          def row(cells) = cells.zip(COLUMNS).map { |cell, (_, width)| (cell.nil? ? "-" : cell.to_s).ljust(width) }.join("  ")

          def shown(bytes, limit) = bytes && Printable.words(Printable.utf8(bytes.b), limit)

          # What is no text is shown decoded, where that can be done.
          def payload(found)
            return "tombstone" if found.record.tombstone?

            bytes = found.record.raw_payload
            return Printable.words(Text.utf8(bytes), UNLIMITED) if Text.readable?(bytes)
            return Printable.words(JSON.encode(found.payload), UNLIMITED) unless found.payload.nil? || found.payload.is_a?(String)

            Printable.bytes(bytes, 4 * bytes.bytesize)
          rescue EncodeError
            Printable.words(found.payload.inspect, UNLIMITED)
          end

          def cut(text, width) = width && text.size > width ? "#{text[0, [width - 1, 1].max]}…" : text

          def notes(found)
            letter = DeadLetterQueue::DeadLetter.from(found.record)
            lines = []
            lines << "from #{letter.source}, group #{letter.source_group}, #{failed(letter)}" if letter.source_topic
            due = due(found.record.headers["delay_until"])
            lines << "due at #{due}, in topic #{DeadLetterQueue::DeadLetterHeaders.text(found.record.headers["delay_topic"])}" if due
            lines << "not decoded: #{MessageFormat.reason(found.failure)}" if found.failure
            lines.map { |line| "    #{Printable.words(line, 400)}\n" }.join
          end

          def failed(letter)
            since = letter.first_failed_at&.utc&.strftime(" (first at %F %T)")
            "#{Printable.count(letter.attempts, "attempt")}#{since}: #{letter.error}"
          end

          def due(header)
            milliseconds = Digits.integer(DeadLetterQueue::DeadLetterHeaders.text(header))
            milliseconds && Time.at(milliseconds.fdiv(1000)).utc.strftime("%F %T")
          end
        end

        # What kcat and rpk know: `%t %p %o %k %v %h %T`, and escapes.
        class Custom
          ESCAPES = {"n" => "\n", "t" => "\t", "r" => "\r", "0" => "\0", "e" => "\e", "\\" => "\\"}.freeze
          LENGTH = ->(record) { record.raw_payload&.bytesize || -1 }
          PARTS = {
            "t" => :topic.to_proc, "p" => :partition.to_proc, "o" => :offset.to_proc, "k" => :key.to_proc,
            "v" => :raw_payload.to_proc, "s" => :raw_payload.to_proc, "T" => ->(record) { record.timestamp_ms || -1 },
            "K" => ->(record) { record.key&.bytesize || -1 }, "V" => LENGTH, "S" => LENGTH,
            "h" => ->(record) { record.headers.flat_map { |name, values| [*values].map { |value| "#{name}=#{value}".b } }.join(",") },
            "d" => ->(record) { record.timestamp&.utc&.strftime("%FT%T.%LZ") }
          }.freeze
          EXPLAINED = "%t topic, %p partition, %o offset, %k key, %v or %s payload, %h headers, %T time in milliseconds, " \
                      "%d time in ISO 8601, %K and %V or %S length of key and payload (-1: none), %% a percent sign; " \
                      "\\n \\t \\r \\0 \\e \\\\ \\xHH"
          TOKEN = /%(.?)|\\x(\h{2})|\\(.?)|[^%\\]+/m
          private_constant :ESCAPES, :LENGTH, :PARTS, :TOKEN

          def initialize(text)
            @parts = text.to_enum(:scan, TOKEN).map { part(Regexp.last_match) }
          end

          def decodes? = false
          def heading = nil

          def line(found)
            @parts.each_with_object(+"".b) { |part, line| line << (part.is_a?(String) ? part : part.call(found.record).to_s.b) }
          end

          private

          def part(token)
            if (name = token[1])
              return "%" if name == "%"

              PARTS[name] or raise Guildhall::ArgumentError, "--format: there is no #{token[0]}; there are #{EXPLAINED}"
            elsif token[2] then token[2].hex.chr
            elsif token[3]
              ESCAPES[token[3]] or raise Guildhall::ArgumentError, "--format: there is no escape #{token[0]}; there are #{EXPLAINED}"
            else token[0].b
            end
          end
        end
      end
    end
  end
end
