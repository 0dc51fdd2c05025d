# frozen_string_literal: true

require_relative "documents"
require_relative "row"

module Cost
  # MessagePack: eager, lazy, what is asked of Documents, and what is written.
  module MessagePackRows
    CODEC = Guildhall::MessagePack.new(max_nesting: 512)
    STRICT = Guildhall::MessagePack.new(allow_invalid_utf8: false)
    LOOKS = 30

    VALUES = Documents::VALUES.merge(
      "maps of integer keys" => ->(n) { Array.new(n) { |i| [i, i] }.to_h },
      "maps of large integer keys" => ->(n) { Array.new(n) { |i| [i << 20, i] }.to_h },
      "times" => ->(n) { Array.new(n) { |i| Time.at(i, 5, :nsec) } },
      "binary" => ->(n) { Array.new(n) { |i| [i].pack("N") } },
      "keys of binary" => ->(n) { Array.new(n) { |i| [[i + (1 << 31)].pack("N"), i] }.to_h },
      "large integers" => ->(n) { Array.new(n) { |i| (1 << 63) + i } }
    ).freeze

    PACKED = {
      "a map of one key, again and again" => ->(n) { "\xDF".b + [n].pack("N") + ("\xA1a\x01".b * n) },
      "open arrays" => ->(n) { ("\xDC".b + [0xffff].pack("n")) * [n / 5, 500].min },
      "arrays that say more than there is" => ->(n) { "\xDD".b + [n * 2].pack("N") + ("\x01".b * n) },
      "maps that say more than there is" => ->(n) { "\xDF\x00\x00\xFF\xFF".b + ("\x01\x01".b * n) },
      "cut off" => ->(n) { CODEC.encode(Array.new(n) { |i| {"k" => i} }).byteslice(0..-2) }
    }.freeze

    TEXTS = {
      "decode" => ->(bytes) { CODEC.decode(bytes) }, "decode, checking texts" => ->(bytes) { STRICT.decode(bytes) }, "document" => ->(bytes) { CODEC.document(bytes) }
    }.freeze

    def self.map?(value) = Guildhall::Document::Map === value
    def self.inner(document) = (map?(document) ? document.values : document.elements).select { |value| Guildhall::Document === value }

    DOCUMENTS = {
      "encode" => ->(document) { CODEC.encode(document) },
      "encode each" => ->(document) { inner(document).each { |value| CODEC.encode(value) } },
      "encode each as JSON" => ->(document) { inner(document).each { |value| Guildhall::JSON.encode(value) } },
      "decode each" => ->(document) { inner(document).each(&:decode) },
      "fetch each" => ->(document) { map?(document) ? document.keys.each { |key| document[key] } : document.size.times { |index| document[index] } },
      "fetch each of each" => lambda { |document|
        inner(document).each { |value| map?(value) ? value.keys.each { |key| value[key] } : value.size.times { |index| value[index] } }
      },
      "look for what is not there" => ->(document) { LOOKS.times { |index| map?(document) ? document["no#{index}"] : document[-index - 1] } },
      "each" => ->(document) { document.each { |*pair| pair } },
      "== decoded" => ->(document) { document == document.decode },
      "merge" => ->(document) { map?(document) && document.merge(document) },
      "slice" => ->(document) { map?(document) ? document.slice(*document.keys) : document[0..] }
    }.freeze

    def self.rows
      VALUES.flat_map { |document, value| rows_of(document, ->(n) { CODEC.encode(value.call(n)) }, value) } +
        PACKED.flat_map { |document, payload| TEXTS.map { |operation, work| row(document, operation, payload, ->(bytes) { refused(work, bytes) }) } }
    end

    def self.rows_of(document, payload, value)
      texts = document.match?(/binary/) ? TEXTS.except("decode, checking texts") : TEXTS
      documents = DOCUMENTS
      documents = documents.except("encode each as JSON") if document.match?(/binary|times/)
      texts.map { |operation, work| row(document, operation, payload, work) } +
        documents.map { |operation, work| row(document, operation, payload, work, ->(bytes) { CODEC.document(bytes) }) } +
        [row(document, "encode objects", payload, ->(object) { CODEC.encode(object) }, ->(bytes) { value && CODEC.decode(bytes) })]
    end

    def self.refused(work, bytes)
      work.call(bytes)
    rescue Guildhall::DecodeError
      nil
    end

    def self.row(document, operation, payload, work, subject = :itself.to_proc)
      Row.new(codec: "MessagePack", document:, operation:, payload:, work:, subject:)
    end
  end
end
