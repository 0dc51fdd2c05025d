# frozen_string_literal: true

require "bigdecimal"
require "date"
require_relative "documents"
require_relative "row"

module Cost
  # CSV, YAML and text.
  module TextRows
    CSV = {
      "rows" => ->(n) { "id,name\n#{Array.new(n) { |i| "#{i},n#{i}\n" }.join}" },
      "wide rows" => ->(n) { Array.new((n / 100) + 1) { Array.new(100) { |i| "c#{i}" }.join(",") }.join("\n") },
      "one wide row" => ->(n) { "#{Array.new(n) { |i| "c#{i}" }.join(",")}\n#{Array.new(n) { |i| i }.join(",")}\n" },
      "one name for all columns" => ->(n) { "#{(["c"] * n).join(",")}\n#{Array.new(n) { |i| i }.join(",")}\n" },
      "short rows below a wide header" => ->(n) { "#{Array.new(n) { |i| "c#{i}" }.join(",")}\n#{"1\n" * n}" },
      "long rows below a short header" => ->(n) { "a\n#{"1,2,3,4\n" * n}" },
      "quotes" => ->(n) { "a,b\n#{"\"x\",\"y\"\"y\"\n" * n}" },
      "one quoted field" => ->(n) { "a\n\"#{"x,\n" * n}\"\n" },
      "doubled quotes" => ->(n) { "a\n\"#{"\"\"" * n}\"\n" },
      "an open quote" => ->(n) { "a\n\"#{"x,\n" * n}" },
      "empty lines" => ->(n) { "a\n#{"\n" * n}" },
      "numbers" => ->(n) { "a\n#{Array.new(n) { |i| "#{i}\n" }.join}" }
    }.freeze
    CONVERTING = Guildhall::CSV.new(converters: {"a" => :integer})

    YAML = {
      "list" => ->(n) { "- 1\n" * n },
      "map" => ->(n) { Array.new(n) { |i| "k#{i}: #{i}\n" }.join },
      "flow" => ->(n) { "[#{(["{a: 1}"] * n).join(", ")}]" },
      "nested" => ->(n) { "[#{Array.new((n / 90) + 1) { ("[" * 90) + ("]" * 90) }.join(",")}]" },
      "deep" => ->(n) { "[" * n },
      "deep blocks" => ->(n) { "- " * n },
      "one long text" => ->(n) { "a: \"#{"x" * n * 10}\"" },
      "escapes" => ->(n) { "a: \"#{"\\u00e9\\n" * n}\"" },
      "a block of lines" => ->(n) { "a: |\n#{"  line\n" * n}" },
      "folded lines" => ->(n) { "a: >\n#{"  line\n\n" * n}" },
      "plain lines" => ->(n) { "a:\n#{"  line\n" * n}" },
      "comments" => ->(n) { "#{"# comment\n" * n}a: 1" },
      "documents" => ->(n) { "--- 1\n" * n },
      "digits and underscores" => ->(n) { "- #{"1_" * n}" },
      "digits and colons" => ->(n) { "- #{"1:" * n}0" },
      "digits and dashes" => ->(n) { "- #{"1-" * n}0" },
      "digits and points" => ->(n) { "- #{"1." * n}0" },
      "signs" => ->(n) { "- #{"-" * n}0" },
      "long words" => ->(n) { "- #{"y" * n}\n- #{"true" * n}" },
      "anchors" => ->(n) { Array.new(n) { |i| "- &a#{i} x#{i}\n" }.join },
      "tags" => ->(n) { "- !!str 1\n" * n },
      "dates" => ->(n) { "- '2026-01-01'\n" * n }
    }.freeze
    ALIASES = {
      "aliases" => ->(n) { "- &a [1, 2, 3]\n#{"- *a\n" * n}" },
      "aliases of aliases" => ->(n) { "a0: &a0 [1, 1]\n#{(1..(n / 12)).map { |i| "a#{i}: &a#{i} [*a#{i - 1}, *a#{i - 1}]\n" }.join}" },
      "merged maps" => ->(n) { "base: &b {#{Array.new(n / 3) { |i| "k#{i}: 1" }.join(", ")}}\nall:\n#{"- {<<: *b}\n" * (n / 3)}" },
      "keys that are aliases" => ->(n) { "a: &a x\n#{(1..n).map { |i| "k#{i}: *a\n" }.join}" }
    }.freeze
    ALIASING = Guildhall::YAML.new(aliases: true)

    TEXT = {
      "ASCII" => ->(n) { "x" * n * 10 }, "umlauts" => ->(n) { "ä" * n * 5 }, "wrong bytes" => ->(n) { "\xFF" * n * 10 }, "a wrong byte at the end" => ->(n) { "#{"ä" * n * 5}\xFF" }
    }.freeze
    TEXTS = {
      "UTF-8" => Guildhall::Text.new, "UTF-8, replacing" => Guildhall::Text.new(invalid: "?"), "Latin-1" => Guildhall::Text.new(encoding: "ISO-8859-1"),
      "UTF-16" => Guildhall::Text.new(encoding: "UTF-16LE", invalid: "?"), "Shift_JIS" => Guildhall::Text.new(encoding: "Shift_JIS", invalid: "?")
    }.freeze

    def self.rows
      CSV.flat_map { |document, payload| csv_rows(document, payload) } +
        YAML.map { |document, payload| row("YAML", document, "decode", payload, refused { |text| Guildhall::YAML.decode(text) }) } +
        ALIASES.map { |document, payload| row("YAML", document, "decode with aliases", payload, refused { |text| ALIASING.decode(text) }) } +
        TEXT.flat_map { |document, payload| TEXTS.map { |name, codec| row("Text", document, "decode as #{name}", payload, refused { |text| codec.decode(text) }) } } +
        written_rows
    end

    def self.csv_rows(document, payload)
      [row("CSV", document, "decode", payload, refused { |text| Guildhall::CSV.decode(text) }),
       row("CSV", document, "decode without headers", payload, refused { |text| Guildhall::CSV.new(headers: false).decode(text) })] +
        (document == "numbers" ? [row("CSV", document, "decode to Integers", payload, refused { |text| CONVERTING.decode(text) })] : [])
    end

    # Of objects.
    def self.written_rows
      yaml = Documents::VALUES.map do |document, value|
        row("YAML", document, "encode", ->(n) { Guildhall::JSON.encode(value.call(n)) }, ->(object) { Guildhall::YAML.encode(object) }, ->(text) { Guildhall::JSON.decode(text) })
      end
      csv = CSV.slice("rows", "wide rows", "one wide row", "quotes").map do |document, payload|
        row("CSV", document, "encode", payload, ->(object) { Guildhall::CSV.encode(object) }, ->(text) { Guildhall::CSV.decode(text) })
      end
      others = ->(n) { Guildhall::JSON.encode(Array.new(n) { |i| {"k#{i}" => i} }) }
      yaml + csv + [row("CSV", "rows of other columns", "encode", others, refused { |object| Guildhall::CSV.encode(object) }, ->(text) { Guildhall::JSON.decode(text) })]
    end

    def self.refused
      lambda do |payload|
        yield(payload)
      rescue Guildhall::DecodeError, Guildhall::EncodeError
        nil
      end
    end

    def self.row(codec, document, operation, payload, work, subject = :itself.to_proc)
      Row.new(codec:, document:, operation:, payload:, work:, subject:, units: 100)
    end
  end
end
