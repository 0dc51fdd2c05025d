# frozen_string_literal: true

module Guildhall
  class CSV
    # From the gem's rows to frozen ones.
    class Reader
      # @param headers [Boolean, Array<String>]
      # @param symbolize_names [Boolean]
      # @param converters [Converters]
      # @raise [Guildhall::ArgumentError]
      def initialize(headers:, symbolize_names:, converters:)
        raise Guildhall::ArgumentError, "headers is true, false or an Array of names" unless headers?(headers)

        @headers = headers.is_a?(Array) ? headers.map { |name| name.to_s.dup.freeze }.freeze : headers
        @symbolize_names = symbolize_names
        @converters = converters
        Ractor.make_shareable(self)
      end

      # @param rows [Array<Array<String, nil>>]
      # @return [Array<Hash, Array>] frozen
      # @raise [DecodeError]
      def read(rows)
        names = @headers == true ? rows.shift.to_a.map { |name| -name.to_s } : @headers || nil
        rows.each_with_index { |row, index| convert(row, names, index) } if @converters.any?
        if names
          keys = @symbolize_names ? names.map(&:to_sym) : names
          rows.map! { |row| hash(keys, row) }
        end
        Shareable.plain!(rows)
      end

      private

      def headers?(headers)
        [true, false].include?(headers) || (headers.is_a?(Array) && headers.all? { |name| name.is_a?(String) || name.is_a?(Symbol) })
      end

      # As the gem does it: a short row lacks nothing, of a long one what has no name is left out. Without a pair for
      # each field: what is not made need not be collected.
      def hash(keys, row)
        made = {}
        keys.size.times { |column| made[keys[column]] = row[column] }
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
        raise DecodeError.new(error.message, codec: "CSV", path: path(column, index), excerpt: text)
      end

      def path(column, index)
        column.is_a?(String) ? "$[#{index}].#{column}" : "$[#{index}][#{column}]"
      end
    end
  end
end
