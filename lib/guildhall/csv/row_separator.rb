# frozen_string_literal: true

module Guildhall
  class CSV
    # Finds out what ends the rows of a text, so that the gem csv need not. With `row_sep: :auto`, the gem takes the first line break of the
    # text for the separator, even if it is inside quotes; this class skips quoted fields. If quotes occur, the gem reads a separator that
    # is no line break (`row_sep: ";"`) as part of a field; this class replaces it by "\n" first.
    class RowSeparator
      LINE_BREAKS = ["\n", "\r\n", "\r"].freeze
      BLANKS = /\G[ \t\f\v]+/u # what `strip` removes

      # @param format [Hash{Symbol=>Object}] the codec's
      def initialize(format)
        @row_sep = format.fetch(:row_sep, :auto)
        @quote = format.fetch(:quote_char, "\"")
        @strip = format[:strip]
        own = @row_sep == :auto || LINE_BREAKS.include?(@row_sep) ? [] : [@row_sep]
        @marks = SharedRegexp.of(Regexp.union(*own, format.fetch(:col_sep, ","), *LINE_BREAKS[1..], "\n").source)
        Ractor.make_shareable(self)
      end

      # @return [String] what ends the rows that are written
      def written = @row_sep == :auto ? "\n" : @row_sep

      # @return [Array(String, (String, Symbol))] a text with the same rows, and the separator that the gem finds them by
      # @raise [::CSV::MalformedCSVError]
      def resolve(text)
        return [text, @row_sep] if @quote.nil? || LINE_BREAKS.include?(@row_sep)

        @row_sep == :auto ? [text, first(text)] : [with_line_breaks(text), "\n"]
      end

      private

      # The gem finds the first line break by itself, unless a quote is before it.
      def first(text)
        quote = text.byteindex(@quote) or return :auto
        line_break = text.byteindex(/[\r\n]/u)
        return :auto if line_break.nil? || line_break < quote

        each_mark(text) { |mark| return mark if LINE_BREAKS.include?(mark) }
        "\n"
      end

      def with_line_breaks(text)
        made = String.new(encoding: text.encoding)
        copied = 0
        rows = 1
        each_mark(text) do |mark, from, to|
          raise ::CSV::MalformedCSVError.new("Unquoted fields do not allow new line <#{mark.inspect}>", rows) if LINE_BREAKS.include?(mark)
          next unless mark == @row_sep

          made << text.byteslice(copied...from) << "\n"
          copied = to
          rows += 1
        end
        made << text.byteslice(copied..)
      end

      # Separators and line breaks outside of quotes. Positions are bytes: those of characters would have to be counted each time.
      def each_mark(text)
        at = 0
        while at
          at = behind_quotes(text, at)
          from = text.byteindex(@marks, at) or return
          at = from + $~[0].bytesize
          yield $~[0], from, at
        end
      end

      # A quote opens a field only where the field begins.
      def behind_quotes(text, at)
        begin_at = @strip && text.byteindex(BLANKS, at) == at ? at + $~[0].bytesize : at
        return at unless text.byteslice(begin_at, @quote.bytesize) == @quote

        closing(text, begin_at + @quote.bytesize) || at
      end

      # A quote that is doubled does not close.
      def closing(text, at)
        while (at = text.byteindex(@quote, at))
          at += @quote.bytesize
          return at unless text.byteslice(at, @quote.bytesize) == @quote

          at += @quote.bytesize
        end
      end
    end
  end
end
