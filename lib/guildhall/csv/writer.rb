# frozen_string_literal: true

module Guildhall
  class CSV
    # From rows of fields to a text that the same codec reads as these rows. The gem quotes fields for the separators of
    # columns and lines, but not for a `row_sep` of one's own, and cannot write without quotes at all.
    module Writer
      # From the first field on that has to be quoted (or from the start, with some options), the gem reads a `row_sep` of one's own
      # as text unless a quoted field is before it.
      TRAILING_NIL = "CSV: with this row_sep, a row that ends in nil would be misread: write \"\" instead"
      private_constant :TRAILING_NIL

      class << self
        # @param rows [Array<Array>]
        # @param format [Hash{Symbol=>Object}] the codec's
        # @return [String]
        # @raise [EncodeError] for a field that would have to be quoted, where nothing is
        def write(rows, format)
          separators = {col_sep: format.fetch(:col_sep, ","), row_sep: row_separator(format)}
          quote = format.fetch(:quote_char, "\"")
          return unquoted(rows, **separators) if quote.nil?
          unless ["\n", "\r\n", "\r"].include?(separators[:row_sep])
            return quoted(rows, quote, **separators, careful: format[:strip] || format[:liberal_parsing])
          end

          ::CSV.generate_lines(rows, **format.except(:skip_blanks, :liberal_parsing), **separators)
        end

        private

        def row_separator(format)
          separator = format.fetch(:row_sep, :auto)
          separator == :auto ? "\n" : separator
        end

        # The gem would quote nils as well, which are empty Strings then.
        def quoted(rows, quote, col_sep:, row_sep:, careful:)
          marks = Regexp.union(quote, col_sep, row_sep, "\n", "\r")
          careful ||= rows.any? { |row| row.any? { |field| checked(field.to_s).match?(marks) } }
          raise EncodeError, TRAILING_NIL if careful && rows.any? { |row| row.last.nil? }

          lines = rows.map do |row|
            row.map { |field| field.nil? ? "" : "#{quote}#{checked(field.to_s).gsub(quote, quote * 2)}#{quote}" }.join(col_sep)
          end
          lines.map { |line| line + row_sep }.join
        end

        def unquoted(rows, col_sep:, row_sep:)
          breaks = Regexp.union(col_sep, row_sep, "\n", "\r")
          rows.map { |row| "#{row.map { |field| plain(field.to_s, breaks) }.join(col_sep)}#{row_sep}" }.join
        end

        def plain(field, breaks)
          return field unless checked(field).match?(breaks)

          raise EncodeError, "CSV: a field holds a separator and would have to be quoted, but quote_char is nil"
        end

        def checked(field)
          field.valid_encoding? ? field : raise(EncodeError, "CSV: a field is not valid #{field.encoding}")
        end
      end
    end
  end
end
