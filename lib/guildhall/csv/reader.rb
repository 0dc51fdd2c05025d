# frozen_string_literal: true

module Guildhall
  class CSV
    # From the gem's rows to frozen ones.
    class Reader
      attr_reader :headers

      # @param headers [Object] as given
      # @return [Boolean, Array<String>] frozen, the names in UTF-8
      # @raise [Guildhall::ArgumentError]
      def self.names(headers)
        return headers if [true, false].include?(headers)

        unless headers.is_a?(Array) && headers.any? && headers.all? { |name| name.is_a?(String) || name.is_a?(Symbol) }
          raise Guildhall::ArgumentError, "Guildhall::CSV: headers is true, false or an Array of names"
        end

        headers.map { |name| UTF8.name(name, "headers") }.freeze
      end

      # @param headers [Boolean, Array<String>] as {.names} makes them
      # @param max_missing [Integer] see {Missing}
      # @raise [Guildhall::ArgumentError]
      def initialize(headers:, symbolize_names:, converters:, max_missing:)
        unless [true, false].include?(symbolize_names) && (headers || !symbolize_names)
          raise Guildhall::ArgumentError, "Guildhall::CSV: symbolize_names is true or false, and false without headers"
        end

        @headers = headers
        @symbolize_names = symbolize_names
        @converters = converters
        @max_missing = max_missing
        Ractor.make_shareable(self)
      end

      # @return [Array<Hash, Array>] frozen
      # @raise [DecodeError]
      def read(rows)
        names = @headers == true ? rows.shift.to_a.map { |name| name && -name } : @headers || nil
        rows.each_with_index { |row, index| convert(row, names, index) } if @converters.any?
        hashes(rows, names) if names
        Shareable.plain!(rows)
      end

      private

      def hashes(rows, names)
        keys = @symbolize_names ? names.map { |name| name&.to_sym } : names
        columns = keys.each_with_index.uniq { |key, _| key }
        check_missing(rows, columns.size)
        rows.map! { |row| hash(columns, row, keys.size) }
      end

      # A row of one byte becomes a Hash that is as large as the header is wide.
      def check_missing(rows, width)
        missing = rows.sum { |row| [width - row.size, 0].max }
        refusal = Missing.refusal(missing, width + rows.sum(&:size), @max_missing) or return
        raise DecodeError.new("#{refusal} (the header has #{width})", codec: "CSV")
      end

      # As `CSV::Row#to_h` of the gem: the first of several columns with one name counts; missing fields are nil; the first field
      # beyond the header has the key nil, unless a column without a name has it. Makes no pair for each field, so that there
      # is less to collect.
      def hash(columns, row, width)
        made = {}
        columns.each { |key, column| made[key] = row[column] }
        made[nil] = row[width] if row.size > width && !made.key?(nil)
        made
      end

      def convert(row, names, index)
        row.size.times do |place|
          column = names ? names[place] : place
          row[place] = converted(column, row[place], index)
        end
      end

      def converted(column, text, index)
        @converters.convert(column, text)
      rescue ::ArgumentError, TypeError => error # Date::Error is an ArgumentError
        raise DecodeError.new(Redaction.mask(error.message), codec: "CSV", path: path(column, index), excerpt: text)
      end

      def path(column, index)
        column.is_a?(String) ? "$[#{index}].#{column}" : "$[#{index}][#{column}]"
      end
    end
  end
end
