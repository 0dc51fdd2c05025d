# frozen_string_literal: true

require_relative "shared_regexp"

module Guildhall
  # Makes what came from outside safe to show in a log: no control characters, no escape sequences of a terminal, no line
  # breaks, no more than so much of it. May be called from any Ractor.
  # @api private
  module Printable
    # Letters, marks, numbers, punctuation, symbols and the plain space; not what changes the direction of text.
    SAFE = /\A[\p{L}\p{M}\p{N}\p{P}\p{S} ]*\z/u
    UNSAFE = /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u
    BEYOND_ASCII = SharedRegexp.primed(/[^ -~]/n, Encoding::BINARY)
    private_constant :SAFE, :UNSAFE, :BEYOND_ASCII

    # @return [String] such as "3 partitions"
    def self.count(number, noun) = "#{number} #{noun}#{"s" unless number == 1}"

    # @param numbers [Array<Integer>] in any order
    # @return [String] such as "0, 2-5"
    def self.runs(numbers)
      numbers.sort.slice_when { |before, after| after > before + 1 }.map { |run| [run.first, run.last].uniq.join("-") }.join(", ")
    end

    # @param text [String] in any encoding, UTF-16 among them
    # @return [String] the same in UTF-8, so that it can be put together with other text; what was invalid may still be
    def self.utf8(text)
      return text if text.encoding == Encoding::UTF_8 || text.ascii_only?
      return text.dup.force_encoding(Encoding::UTF_8) if text.encoding == Encoding::BINARY

      text.encode(Encoding::UTF_8, invalid: :replace, undef: :replace)
    rescue Encoding::ConverterNotFoundError # such as UTF-7
      text.dup.force_encoding(Encoding::UTF_8)
    end

    # @return [String] as {.utf8}, and valid: what JSON can write
    def self.valid(text) = utf8(text).scrub

    # @param limit [Integer] bytes
    # @return [String, nil] printable ASCII; other bytes as `\xE2`
    def self.bytes(text, limit)
      return text if text.nil? || (text.bytesize <= limit && text.ascii_only? && text.count("^ -~").zero?)

      text.byteslice(0, limit).b.gsub(BEYOND_ASCII) { |byte| format("\\x%02X", byte.ord) }.byteslice(0, limit)
    end

    # @param limit [Integer] characters
    # @return [String, nil] UTF-8; characters that are not safe as `\u{7}`
    def self.words(text, limit)
      return text if text.nil? || (text.size <= limit && text.encoding == Encoding::UTF_8 && text.valid_encoding? && SAFE.match?(text))

      shown = valid(text[0, limit]).gsub(UNSAFE) { |character| format("\\u{%X}", character.ord) }
      text.size > limit || shown.size > limit ? "#{shown[0, limit]}…" : shown
    end
  end
end
