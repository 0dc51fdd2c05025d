# frozen_string_literal: true

module Guildhall
  class CSV
    # What is to be written as rows of fields.
    module Table
      class << self
        # @param rows [Enumerable]
        # @param max_missing [Integer]
        # @return [Array<Array>] of Hashes with a header row
        # @raise [EncodeError]
        def of(rows, max_missing)
          if !rows.is_a?(Enumerable) || rows.is_a?(Hash)
            raise EncodeError, "CSV: rows are an Enumerable of Hashes or Arrays, not #{rows.class}"
          end

          rows = rows.to_a.map { |row| Document.plain(row) }
          return rows if rows.all?(Array)
          return with_headers(rows, max_missing) if rows.all?(Hash)

          raise EncodeError, "CSV: rows are Hashes or Arrays, all of one kind, not #{rows.map(&:class).uniq.first(3).join(", ")}"
        end

        private

        # A key that only a later row has would be lost with the keys of the first.
        def with_headers(rows, max_missing)
          names = rows.flat_map(&:keys).uniq
          present = rows.sum(&:size)
          refusal = Missing.refusal((names.size * rows.size) - present, present, max_missing)
          raise EncodeError, "CSV: #{refusal} (together they have #{names.size} keys)" if refusal

          twice, = names.group_by(&:to_s).find { |_, same| same.size > 1 }
          raise EncodeError, "CSV: two keys are the column #{twice.inspect}: write all of them as Strings, or as Symbols" if twice

          [names, *rows.map { |row| row.values_at(*names) }]
        end
      end
    end
  end
end
