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
        return Ractor.make_shareable(rows.each_with_index.map { |row, index| fields(row, row.each_index, index) }) unless @headers

        names = @headers == true ? rows.shift.to_a.map { |name| -name.to_s } : @headers
        keys = @symbolize_names ? names.map(&:to_sym) : names
        Ractor.make_shareable(rows.each_with_index.map { |row, index| hash(keys, fields(row, names, index)) })
      end

      private

      def headers?(headers)
        [true, false].include?(headers) || (headers.is_a?(Array) && headers.all? { |name| name.is_a?(String) || name.is_a?(Symbol) })
      end

      # As the gem does it: a short row lacks nothing, of a long one what has no name is left out.
      def hash(keys, fields)
        keys.each_with_index.to_h { |key, column| [key, fields[column]] }
      end

      def fields(row, columns, index)
        return row unless @converters.any?

        row.zip(columns).map { |text, column| convert(column, text, index) }
      end

      def convert(column, text, index)
        @converters.convert(column, text)
      rescue ::ArgumentError, TypeError => error # Date::Error is an ArgumentError
        raise DecodeError.new(error.message, codec: "CSV", path: path(column, index), excerpt: text.dump[1..-2].byteslice(0, 40))
      end

      def path(column, index)
        column.is_a?(String) ? "$[#{index}].#{column}" : "$[#{index}][#{column}]"
      end
    end
  end
end
