# frozen_string_literal: true

module Guildhall
  class CSV
    # From rows of values to a text that the same codec reads as these rows.
    class Writer
      BOM = "\uFEFF"
      private_constant :BOM

      # @param format [Hash{Symbol=>Object}] the codec's
      def initialize(format, separator, converters)
        @col_sep = format.fetch(:col_sep, ",")
        @row_sep = separator.written
        @quote = format.fetch(:quote_char, "\"")
        @strip = format[:strip]
        @skip_blanks = format[:skip_blanks]
        @marks = marks
        @converters = converters
        Ractor.make_shareable(self)
      end

      # @raise [EncodeError] for a field that the codec would not read as it is
      def write(table)
        text = +""
        table.rows.each_with_index do |row, index|
          line = line(row, table, index)
          refuse_blank(table, index) if line.empty? && (@skip_blanks || (table.header?(index) && row.size == 1))
          text << line << @row_sep
        end
        text
      end

      private

      # What is special anywhere in a field. The gem looks for the first character of a separator, and then for the rest of it.
      def marks
        special = "\r\n#{@col_sep}#{@row_sep}#{@quote}".chars.uniq.map { |character| Regexp.escape(character) }.join
        ends = @strip ? "|\\A[\\s\\0]|[\\s\\0]\\z" : ""
        SharedRegexp.of("[#{special}]#{ends}|\\A#{BOM}")
      end

      def line(row, table, index)
        typed = @converters.any? && !table.header?(index)
        place = -1
        row.map do |value|
          place += 1
          text = typed ? typed(value, table, index, place) : value&.to_s
          next "" if text.nil?

          text = in_utf8(text, table, index, place) unless text.encoding == Encoding::UTF_8 && text.valid_encoding?
          needs_quotes = text.empty? ? @quote : @marks.match?(text)
          needs_quotes ? quoted(text, table, index, place) : text
        end.join(@col_sep)
      end

      def quoted(text, table, row, place)
        raise EncodeError, "CSV: #{table.path(row, place)} would have to be quoted, but quote_char is nil" unless @quote

        "#{@quote}#{text.gsub(@quote, @quote * 2)}#{@quote}"
      end

      def typed(value, table, row, place)
        @converters.text(table.column(place), value)
      rescue Guildhall::ArgumentError => error
        raise EncodeError.new("CSV: #{table.path(row, place)}: #{error.message}", excerpt: value.inspect), cause: nil
      end

      def in_utf8(text, table, row, place)
        UTF8.of(text) || raise(EncodeError.new("CSV: #{table.path(row, place)} is not valid #{text.encoding} text", excerpt: text))
      end

      def refuse_blank(table, row)
        unless @skip_blanks
          raise EncodeError, "CSV: a column without a name cannot be the only one: the header would be an empty line, which names no column"
        end

        where = table.header?(row) ? "the header" : table.path(row, 0)
        instead = @quote ? "\"\" for nil, or another column" : "another column"
        raise EncodeError, "CSV: #{where} would be an empty line, which skip_blanks leaves out: write #{instead}"
      end
    end
  end
end
