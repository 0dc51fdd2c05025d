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
    UNSAFE_IN_LINES = /[^\p{L}\p{M}\p{N}\p{P}\p{S} \n\r\t]/u
    BEYOND_ASCII = SharedRegexp.primed(/[^ -~]/n, Encoding::BINARY)
    private_constant :SAFE, :UNSAFE, :UNSAFE_IN_LINES, :BEYOND_ASCII

    THOUSANDS = SharedRegexp.primed(/(\d)(?=(\d{3})+\z)/n, Encoding::BINARY)
    UNITS = %w[B KB MB GB TB].freeze
    private_constant :THOUSANDS, :UNITS

    # @return [String] such as "3 partitions"
    def self.count(number, noun, plural = "#{noun}s") = "#{number} #{number == 1 ? noun : plural}"

    # @return [String] such as "1,204,331"
    def self.number(number) = number.to_s.gsub(THOUSANDS, "\\1,")

    # @param bytes [Integer]
    # @return [String] such as "1.2 MB"
    def self.size(bytes)
      power = UNITS.each_index.find { |index| bytes < 1000**(index + 1) } || (UNITS.size - 1)
      power.zero? ? "#{bytes} B" : format("%.1f %s", bytes.fdiv(1000**power), UNITS[power])
    end

    # Seconds, as every log line, page and command says them.
    # @param seconds [Numeric]
    # @return [String] such as "0.4 s", "38 s", "2m10s" or "1d03h"
    def self.duration(seconds)
      return "#{format("%.1f", seconds).delete_suffix(".0")} s" if seconds < 9.95

      case seconds.round
      when ...60 then "#{seconds.round} s"
      when ...3_600 then format("%dm%02ds", *seconds.round.divmod(60))
      when ...86_400 then format("%dh%02dm", *(seconds / 60).round.divmod(60))
      else format("%dd%02dh", *(seconds / 3_600).round.divmod(24))
      end
    end

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

      shown = escape(valid(text[0, limit]), UNSAFE)
      text.size > limit || shown.size > limit ? "#{shown[0, limit]}…" : shown
    end

    # @return [String] as {.words}, all of it, with its lines and tabs
    def self.lines(text) = escape(valid(text), UNSAFE_IN_LINES)

    def self.escape(text, unsafe) = text.gsub(unsafe) { |character| format("\\u{%X}", character.ord) }
    private_class_method :escape
  end
end
