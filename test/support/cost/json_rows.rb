# frozen_string_literal: true

require "stringio"
require "guildhall/columns"
require_relative "documents"
require_relative "row"

module Cost
  # JSON: eager, lazy, what is asked of Documents, what is written, and JSONPaths.
  module JSONRows
    STRICT = Guildhall::JSON.new(max_nesting: 1_000_000)
    LAX = Guildhall::JSON.new(max_nesting: 1_000_000, allow_duplicate_key: true, allow_invalid_utf8: true, allow_nan: true)
    SYMBOLS = Guildhall::JSON.new(max_nesting: 1_000_000, symbolize_names: true)
    DECIMAL = Guildhall::JSON.new(max_nesting: 1_000_000, decimal_class: BigDecimal)
    RATIONAL = Guildhall::JSON.new(max_nesting: 1_000_000, decimal_class: Rational)
    LOOKS = 30
    CHUNK = 500 # bytes

    def self.map?(value) = Guildhall::Document::Map === value
    def self.container?(value) = Guildhall::Document === value
    def self.inner(document) = (map?(document) ? document.values : document.elements).select { |value| container?(value) }

    # Of every key or element.
    def self.columns(document)
      paths = map?(document) ? document.keys.map { |key| [key] } : Array.new(document.size) { |index| [index] }
      Guildhall::Columns.new(*paths) if paths.any?
    end

    TEXTS = {
      "decode" => ->(text) { STRICT.decode(text) },
      "decode, keys as Symbols" => ->(text) { SYMBOLS.decode(text) },
      "decode, allowing everything" => ->(text) { LAX.decode(text) },
      "decode to BigDecimal" => ->(text) { DECIMAL.decode(text) },
      "decode to Rational" => ->(text) { RATIONAL.decode(text) },
      "document" => ->(text) { STRICT.document(text) },
      "each_document of a String" => ->(text) { STRICT.each_document("#{text} #{text}") { |document| document } },
      "each_document of an IO" => ->(text) { STRICT.each_document(StringIO.new(text), chunk: CHUNK) { |document| document } }
    }.freeze

    # Of many texts, one a line.
    LINES = {
      "each_document of a String" => ->(lines) { STRICT.each_document(lines) { |document| document } },
      "each_document of an IO" => ->(lines) { STRICT.each_document(StringIO.new(lines), chunk: CHUNK) { |document| document } },
      "lines of a String" => ->(lines) { STRICT.each_document(lines, on_error: :skip) { |document| document } },
      "lines of an IO" => ->(lines) { STRICT.each_document(StringIO.new(lines), chunk: CHUNK, on_error: :skip) { |document| document } }
    }.freeze

    # Of a Document. Those that take as many steps as there are children look at children of the first level and the second.
    DOCUMENTS = {
      "encode" => ->(document) { STRICT.encode(document) },
      "encode each" => ->(document) { inner(document).each { |value| STRICT.encode(value) } },
      "encode each of each" => ->(document) { inner(document).each { |value| inner(value).each { |other| STRICT.encode(other) } } },
      "source of each, backwards" => ->(document) { inner(document).reverse_each(&:source) },
      "source of each, at random" => ->(document) { inner(document).shuffle(random: Random.new(1)).each(&:source) },
      "source of each, twice" => ->(document) { 2.times { inner(document).each(&:source) } },
      "detach each" => ->(document) { inner(document).each(&:detach) },
      "to_json of each" => ->(document) { inner(document).each(&:to_json) },
      "decode each" => ->(document) { inner(document).each(&:decode) },
      "decode" => ->(document) { document.decode },
      "fetch each" => ->(document) { map?(document) ? document.keys.each { |key| document[key] } : document.size.times { |index| document[index] } },
      "fetch each of each" => lambda { |document|
        inner(document).each { |value| map?(value) ? value.keys.each { |key| value[key] } : value.size.times { |index| value[index] } }
      },
      "columns" => ->(document) { columns(document)&.row(document) },
      "columns of bytes" => ->(document) { columns(document)&.decode(STRICT.lazy, document.source) },
      "look for what is not there" => ->(document) { LOOKS.times { |index| map?(document) ? document["no#{index}"] : document[-index - 1] } },
      "each" => ->(document) { document.each { |*pair| pair } },
      "==" => ->(document) { document == STRICT.document(document.source) },
      "== decoded" => ->(document) { document == document.decode },
      "hash" => ->(document) { document.hash },
      "inspect" => ->(document) { document.inspect },
      "merge" => ->(document) { map?(document) && document.merge(document, {"x" => 1}) },
      "to_h" => ->(document) { map?(document) ? document.to_h { |key, value| [key, value] } : document.to_a },
      "select and reject" => ->(document) { document.select { |*pair| pair }.size + document.reject { |*pair| pair }.size },
      "slice and except" => ->(document) { map?(document) ? document.slice(*document.keys).size + document.except(*document.keys).size : document[0..] },
      "values_at" => ->(document) { map?(document) ? document.values_at(*document.keys) : document.values_at(*(0...document.size)) },
      "transform" => ->(document) { map?(document) && [document.transform_values { |value| value }, document.transform_keys(&:to_s)] },
      "deconstruct" => ->(document) { map?(document) ? document.deconstruct_keys(nil) : document.deconstruct },
      "value?" => ->(document) { map?(document) ? document.value?(-1) : document.include?(-1) },
      "uniq, tally and group_by" => ->(document) { [document.uniq, document.tally, document.group_by { |*pair| pair.size }] },
      "Marshal" => ->(document) { Marshal.dump(document) }
    }.merge(%w[$..* $..a $.*.* $[*][*] $[?@.a] $[?@==$[0]] $[?@==$] $[?$==@] $[?@.a==@.b] $[?count($..*)>1] $[?count(@..*)>1] $[?$..zz] $[?length($)==length(@)]
               $[?match(@,$[0])] $[?search($[0],@)] $[::-1] $[1:999999:2] $[0,-1,0:2] $..[?@.a>1]].to_h { |path| ["path #{path}", ->(document) { document.path(path) }] }).freeze

    # What is written of plain objects.
    OBJECTS = {
      "encode objects" => ->(object) { STRICT.encode(object) },
      "encode objects with what JSON has no form for" => ->(object) { STRICT.encode([object, Time.at(0), :symbol, Struct.new(:a).new(1)]) }
    }.freeze

    def self.rows
      texts = TEXTS.flat_map { |operation, work| Documents::JSON.map { |document, payload| row(document, operation, payload, work) } }
      repeated = Documents::REPEATED.flat_map { |document, payload| repeated_rows(document, payload) }
      broken = Documents::BROKEN.flat_map do |document, payload|
        [TEXTS["decode"], TEXTS["document"], TEXTS["each_document of an IO"]].map { |work| row(document, TEXTS.key(work), payload, refused(work)) }
      end
      texts + repeated + broken + line_rows + document_rows + encode_rows
    end

    # One text more makes a line of it.
    def self.line_rows
      kinds = Documents::JSON.slice("integers", "objects of one integer", "short strings", "equal objects", "nested arrays", "escapes", "one wide object")
      kinds.flat_map do |document, payload|
        lines = ->(text) { STRICT.decode(text).map { |one| Guildhall::JSON.encode(one) }.join("\n") }
        LINES.map { |operation, work| row("lines of #{document}", operation, payload, work, lines) }
      end
    end

    def self.document_rows
      Documents::JSON.flat_map do |document, payload|
        DOCUMENTS.map { |operation, work| row(document, operation, payload, work, ->(text) { STRICT.document(text) }) }
      end
    end

    def self.repeated_rows(document, payload)
      lax = TEXTS.slice("decode, allowing everything").merge("document" => ->(text) { LAX.document(text) })
      lax.map { |operation, work| row(document, operation, payload, work) } +
        DOCUMENTS.slice("encode", "encode each", "detach each", "fetch each", "decode each", "path $..*").map do |operation, work|
          row(document, operation, payload, work, ->(text) { LAX.document(text) })
        end
    end

    def self.encode_rows
      Documents::VALUES.flat_map do |document, payload|
        OBJECTS.map { |operation, work| row(document, operation, ->(n) { STRICT.encode(payload.call(n)) }, work, ->(text) { STRICT.decode(text) }) }
      end
    end

    def self.refused(work)
      lambda do |text|
        work.call(text)
      rescue Guildhall::DecodeError
        nil
      end
    end

    def self.row(document, operation, payload, work, subject = :itself.to_proc)
      Row.new(codec: "JSON", document:, operation:, payload:, work:, subject:)
    end
  end
end
