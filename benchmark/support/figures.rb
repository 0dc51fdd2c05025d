# frozen_string_literal: true

require_relative "results"

class Bench
  # The tables of figures in the guides, made of benchmark/results. A page says `<!-- figures: NAME -->`, and `<!-- end of figures -->` where the
  # table ends; bin/rake figures writes what stands between the two. No other text of a guide has figures of speed: Figures.by_hand finds them.
  class Figures
    ROOT = File.expand_path("../..", __dir__)
    PAGES = ["README*.md", "docs/*.md"].freeze
    BLOCK = /^<!-- figures: (\S+) -->\n.*?^<!-- end of figures -->$/m
    # "4.7 ×", "3 times as fast", "8 % faster", "4,000 messages a second"
    BY_HAND = /\d ?×|\d times (?:as|the|faster|slower|Karafka)|\d ?% (?:faster|slower)|\d (?:messages )?(?:a|per) second(?! \()/
    WAYS = {"plain" => "without YJIT", "yjit" => "with YJIT"}.freeze

    # A table. Its cells are the ratio of a row of the results, without YJIT and with it.
    # columns: what stands for %s in the row's name, by the column's head; nil: one column
    # rows: label => [row, against]
    # value: what a cell says, of a row of the results
    Table = Data.define(:head, :columns, :rows, :value) do
      def initialize(rows:, columns: nil, head: "", value: ->(row) { Figures.ratio(row["ratio"]) })
        columns = columns.to_h { |name| [name, name] } if columns.is_a?(Array)
        super(rows:, columns: columns || {"times as fast" => ""}, head:, value:)
      end
    end

    SIZES = ["0.7 KB", "5 KB", "19 KB", "78 KB"].freeze
    KAFKA = [1, 5, 25, 100].to_h { |kb| ["#{kb} KB", "#{kb}KB"] }.freeze
    JSON_TEXTS = {"unique keys" => "unique_keys", "Floats" => "floats", "text beyond ASCII" => "utf8_text", "long Strings" => "long_strings",
                  "Integers" => "integers", "deep" => "deep"}.freeze
    JOBS = {"empty, concurrency 1" => "empty.1", "empty, concurrency 5" => "empty.5", "1 ms of I/O, concurrency 1" => "io.1", "1 ms of I/O, concurrency 5" => "io.5"}.freeze
    CALLERS = {"1" => "1 caller", "3" => "3 callers", "5" => "5 callers", "8" => "8 callers"}.freeze
    PARSE = "JSON.parse, json 3.1.0"
    PATTERNS = ["thread-coordinated", "pre-partitioned", "ephemeral Ractors", "Ractor supervisor", "Guildhall, Hashes", "Guildhall, Documents"].freeze
    LANGUAGES = {
      "**Guildhall, Documents**" => "Guildhall, Documents", "**Guildhall, Hashes**" => "Guildhall, Hashes", "Karafka" => "Karafka", "racecar" => "racecar",
      "Java, Jackson's tree, two threads" => "Java, Jackson tree, 2 threads",
      "Java, Jackson's streaming reader, two threads" => "Java, Jackson streaming, 2 threads",
      "Go, `encoding/json` into a struct" => "Go, struct", "Node, kafkajs" => "Node, kafkajs", "Python, ujson" => "Python, ujson"
    }.freeze
    COSTS = {"a consumer in C that reads nothing" => "C, nothing read", "no payload read" => "nothing read", "`pluck`, five columns" => "columns",
             "Documents, five fields" => "Documents", "Hashes" => "Hashes"}.freeze
    COST_PARTS = {"together" => "together", "librdkafka" => "librdkafka", "listener thread" => "listener", "runner thread" => "consumer",
                  "of that Ruby's collector" => "garbage collector"}.freeze
    # By the name that pages call them by.
    TABLES = {
      "json" => Table.new(columns: [*SIZES, "webhooks"], rows: {
        "`document`, five fields read, × `JSON.parse`" => ["json.document.%s", PARSE],
        "`document`, five fields read, × `Oj::Parser`" => ["json.document.%s", "Oj::Parser"],
        "`document`, five fields read, × simdjson's gem" => ["json.document.%s", "simdjson 1.0.1"],
        "`decode`, whole Hashes, × `JSON.parse`" => ["json.eager.%s", PARSE],
        "`decode` × `JSON.parse(freeze: true)` and `Ractor.shareable?`" => ["json.eager.%s", "freeze: true + shareable?"]
      }),
      "json_texts" => Table.new(columns: JSON_TEXTS, rows: {
        "`document` × `JSON.parse`" => ["json.document.%s", PARSE], "`decode` × `JSON.parse`" => ["json.eager.%s", PARSE]
      }),
      "json_encode" => Table.new(columns: ["5 KB", "webhooks"], rows: {"`encode` × `JSON.generate`" => ["json.encode.%s", "JSON.generate"]}),
      "msgpack" => Table.new(columns: [*SIZES, "webhooks"], rows: {
        "`decode` × `unpack`" => ["msgpack.decode %s", "unpack"],
        "`decode` × `unpack(freeze: true)` and `Ractor.shareable?`" => ["msgpack.frozen %s", "unpack(freeze) + check"],
        "`document`, five fields read, × `unpack`" => ["msgpack.document+5 %s", "unpack"],
        "`encode` × `to_msgpack`" => ["msgpack.encode %s", "msgpack"]
      }),
      "avro" => Table.new(columns: SIZES, rows: {"`decode` × the gem avro" => ["avro.decode %s", "avro"], "`encode` × the gem avro" => ["avro.encode %s", "avro"]}),
      "schema" => Table.new(columns: {"webhooks" => "webhooks"}, rows: {
        "check a Document × jsonschema_rs" => ["schema.document.%s", "jsonschema_rs"],
        "check Hashes × jsonschema_rs" => ["schema.values.%s", "jsonschema_rs"],
        "decode and check × `JSON.parse` and jsonschema_rs" => ["schema.parse_and_validate.%s", "JSON.parse + jsonschema_rs"],
        "decode and check on the pool × `JSON.parse` and jsonschema_rs" => ["schema.pool.%s", "JSON.parse + jsonschema_rs"],
        "check a Document × json_schemer" => ["schema.document.%s", "json_schemer"]
      }),
      "pool" => Table.new(columns: SIZES.first(3), rows: {
        "Documents, five fields read, × `JSON.parse`" => ["pool.documents %s", "JSON.parse"],
        "frozen Hashes × `JSON.parse`" => ["pool.hashes %s", "JSON.parse"],
        "frozen Hashes × worker Ractors written by hand" => ["pool.hashes %s", "usual Ractor pool"]
      }),
      "pool_batches" => Table.new(head: "the pool × the same codec in a loop; payloads in a batch:", columns: [1, 10, 100, 1000].to_h { |count| [count.to_s, count] }, rows: {
        "Hashes of 0.7 KB" => ["pool.never_slower 0.7 KB × %s", "same codec inline"], "Hashes of 5 KB" => ["pool.never_slower 5 KB × %s", "same codec inline"],
        "Hashes of 19 KB" => ["pool.never_slower 19 KB × %s", "same codec inline"]
      }),
      "pool_peers" => Table.new(rows: {
        "pure Ruby × two forked processes" => ["pool.pure_ruby", "two forked processes"],
        "CSV in a pipeline × two forked processes" => ["pipeline.csv.two_workers", "two forked processes"],
        "YAML in a pipeline × two forked processes" => ["pipeline.yaml.two_workers", "two forked processes"],
        "a task that does nothing, batches of 500, × ractor-pool" => ["pool.identity × 500", "ractor-pool"]
      }),
      "queue" => Table.new(rows: {
        "one producer, one consumer × `Ractor::Port`" => ["queue.1p1c", "Ractor::Port"],
        "one producer, one consumer × ractor_queue" => ["queue.1p1c", "ractor_queue"],
        "8 producers, 8 consumers × ractor_queue" => ["queue.8p8c", "ractor_queue"],
        "round trip, both ends busy × `Ractor::Port`" => ["queue.round_trip", "Ractor::Port"],
        "round trip, both ends busy × ractor_queue" => ["queue.round_trip", "ractor_queue"],
        "round trip after 5 ms of rest × `Ractor::Port`" => ["queue.round_trip_idle", "Ractor::Port"],
        "jobs to two workers and back × `Ractor::Port`" => ["queue.pool_identity", "Ractor::Port"],
        "`push_many`, `pop_many` of 64 × `push`, `pop`" => ["queue.many_of_64", "push and pop"],
        "between two threads × `Thread::SizedQueue`" => ["queue.threads", "Thread::SizedQueue"],
        "push and pop in one thread × `Thread::SizedQueue`" => ["queue.alone", "Thread::SizedQueue"],
        "StripedQueue, 8 producers, 8 consumers × Queue" => ["queue.striped_8p8c", "Guildhall::Queue"]
      }),
      "kafka" => Table.new(columns: KAFKA, rows: {
        "Documents × Karafka" => ["kafka.document.%s", "Karafka"], "Hashes × Karafka" => ["kafka.hash.%s", "Karafka"],
        "decode, check and select × Karafka" => ["kafka.stages.%s", "Karafka doing the same"]
      }),
      "karafka_plugin" => Table.new(head: "× the same application with `JSON.parse`", columns: [1, 5, 25, 100].to_h { |kb| ["#{kb} KB", "#{kb}KB.5"] }, rows: {
        "Documents" => ["karafka_plugin.document.%s", "JSON.parse, in place"], "Hashes" => ["karafka_plugin.hash.%s", "JSON.parse, in place"],
        "Documents, checks and a summary in Ruby" => ["karafka_plugin.stages.%s", "JSON.parse, in place"]
      }),
      "active_job" => Table.new(columns: JOBS, head: "jobs performed", rows: {
        "× Karafka's adapter" => ["active_job.%s", "Karafka's adapter"], "× Solid Queue on SQLite" => ["active_job.%s", "Solid Queue, SQLite"]
      }),
      "kafka_costs" => Table.new(head: "µs of a processor, a message of 1 KB", columns: COST_PARTS, value: ->(row) { row["note"][/\A[\d.]+/] },
        rows: COSTS.transform_values { |name| ["kafka_costs.1KB.#{name}.%s", "a consumer in C"] }),
      "kafka_cores" => Table.new(head: "thousands of messages a second at most; cores that takes", columns: {"1 KB" => "1KB", "5 KB" => "5KB"},
        value: ->(row) { format("%.0f; %.1f", row["note"][/\d+/].to_f / 1000, row["ratio"]) },
        rows: COSTS.except("a consumer in C that reads nothing").transform_values { |name| ["kafka_costs.%s.#{name}.cores", "its busiest thread"] }),
      "languages" => Table.new(head: "thousands of messages a second", columns: ["0.5 KB", "5 KB", "25 KB"],
        value: ->(row) { format("%.3g", row["note"][/\A\d+/].to_f / 1000) },
        rows: LANGUAGES.transform_values { |name| ["languages.%s.#{name}", "Karafka"] }),
      "patterns" => Table.new(head: "× `JSON.parse` in one thread", columns: ["0.5 KB", *SIZES.drop(1)],
        rows: PATTERNS.to_h { |name| [name, ["patterns.%s.#{name}", "one thread, JSON.parse"]] }),
      "contention" => Table.new(head: "Guildhall × thread-coordinated; callers at once:", columns: CALLERS, rows: {
        "nothing else runs" => ["contention.%s", "thread-coordinated"], "beside busy threads" => ["contention.%s, busy main threads", "thread-coordinated"]
      }),
      "transfer" => Table.new(head: "parse and hand over 65 KB, × deep copy", rows: {
        "`Ractor.make_shareable`" => ["transfer.make_shareable", "deep copy"], "`JSON.parse(freeze: true)`" => ["transfer.freeze: true", "deep copy"],
        "Guildhall, a Hash" => ["transfer.Guildhall, Hash", "deep copy"], "Guildhall, a Document" => ["transfer.Guildhall, Document", "deep copy"]
      })
    }.freeze

    # @return [String] with two digits that count
    def self.ratio(number) = format(number < 0.95 ? "%.2f" : (number < 10 ? "%.1f" : "%.0f"), number)

    # @param taken [Array<Results::Taken>]
    # @param tables [Hash{String=>Table}]
    def initialize(taken = Results.all, tables: TABLES)
      @tables = tables
      @found = Hash.new { |found, key| found[key] = {} }
      taken.reject(&:quick).each do |results|
        valid = results.rows.reject { |row| row["note"].to_s.end_with?("void") }
        valid.each { |row| @found[row.values_at("row", "against")][results.way] = [row, results] }
      end
    end

    # @return [Array<String>] their paths
    def self.pages = Dir[*PAGES.map { |pattern| File.join(ROOT, pattern) }]

    # @return [Hash{String=>String}] each page as it should be, by its path
    def pages = Figures.pages.to_h { |path| [path, fill(File.read(path, encoding: "UTF-8"))] }

    # @return [String] the text with the figures of today
    def fill(text)
      text.gsub(BLOCK) { |block| "#{block.lines.first}#{markdown(@tables.fetch(block[BLOCK, 1]))}\n<!-- end of figures -->" }
    end

    # @return [Array<String>] lines that have figures of no benchmark's result
    def self.by_hand(text)
      text.gsub(BLOCK, "").gsub(/^```.*?^```$/m, "").lines(chomp: true).grep(BY_HAND)
    end

    # @return [Hash{String=>Array<String>}] those of all pages, by the page's path
    def self.all_by_hand
      pages.to_h { |path| [path, by_hand(File.read(path, encoding: "UTF-8"))] }.reject { |_, lines| lines.empty? }
    end

    private

    def markdown(table)
      cells = table.rows.transform_values { |row, against| table.columns.values.map { |part| @found.fetch([row.sub("%s", part.to_s), against], {}) } }
      gone = cells.find { |_, found| found.all?(&:empty?) }
      raise KeyError, "benchmark/results has nothing for #{table.rows[gone.first].join(" × ")}" if gone

      ways = cells.values.flatten.flat_map(&:keys).uniq.sort
      lines = cells.map { |label, found| "| #{[label, *found.map { |cell| said(cell, ways, table) }].join(" | ")} |" }
      ["| #{[table.head, *table.columns.keys].join(" | ")} |", "|#{"---|" * (table.columns.size + 1)}", *lines, "", caption(cells.values.flatten, ways)].join("\n")
    end

    def said(cell, ways, table)
      cell.empty? ? "–" : ways.map { |way| cell[way] ? table.value.call(cell[way].first) : "–" }.join(" / ")
    end

    # With what, where and when.
    def caption(cells, ways)
      names = cells.flat_map(&:values).map { |_, taken| "`bin/bench #{taken.name}`" }.uniq.join(", ")
      conditions = ways.to_h { |way| [WAYS.fetch(way), Results.conditions(cells.filter_map { |cell| cell[way] })] }
      same = conditions.values.uniq.one?
      "<sub>#{names}; #{same ? "#{conditions.keys.join(" / ")}: #{conditions.values.first}" : conditions.map { |way, text| "#{way}: #{text}" }.join("; ")}.</sub>"
    end
  end
end
