# frozen_string_literal: true

module Guildhall
  class CSV
    # What is to be written: rows of values, of which the first may be the header.
    class Table
      attr_reader :rows

      # @param rows [Enumerable] of Hashes or Arrays
      # @param headers [Boolean, Array<String>] the codec's
      # @raise [EncodeError]
      def self.of(rows, headers, max_missing)
        if !rows.is_a?(Enumerable) || rows.is_a?(Hash)
          raise EncodeError, "CSV: rows are an Enumerable of Hashes or Arrays, not #{rows.class}"
        end

        rows = rows.to_a.map { |row| Document.plain(row) }
        new(rows, headers, max_missing)
      end

      # @see .of
      def initialize(rows, headers, max_missing)
        @max_missing = max_missing
        if rows.all?(Array) then arrays(rows, headers)
        elsif !rows.all?(Hash)
          kinds = rows.map(&:class).uniq.first(3).join(", ")
          raise EncodeError, "CSV: rows are Hashes or Arrays, all of one kind, not #{kinds}"
        elsif headers.is_a?(Array) then named(rows, headers)
        else with_header(rows)
        end
      end

      # @return [Boolean] whether it is the header
      def header?(row) = @header && row.zero?

      # @return [String, Integer, nil] what the codec's converters call the column
      def column(place) = @columns ? @columns[place] : place

      # @param place [Integer] of the field in it
      # @return [String] where the value is, as a path
      def path(row, place)
        return "the header, column #{place}" if header?(row)

        column = column(place)
        "$[#{@header ? row - 1 : row}]#{column.is_a?(String) ? ".#{column}" : "[#{column || place}]"}"
      end

      private

      # They are written as they are: the first names the columns where the codec has it so.
      def arrays(rows, headers)
        @rows = rows
        @header = headers == true && rows.any?
        @columns = @header ? rows.first.map { |name| written(name) } : headers || nil
        check_columns(rows) if @header
      end

      # Of several columns with one name the codec reads the first, and of the fields beyond the header one.
      def check_columns(rows)
        twice, = @columns.tally.find { |_, count| count > 1 }
        if twice || @columns.count(nil) > 1
          raise EncodeError.new("CSV: two columns of the header have one name, and only the first could be read again",
            excerpt: twice.inspect)
        end

        most = @columns.size + (@columns.include?(nil) ? 0 : 1)
        index = rows.index { |row| row.size > most } or return
        raise EncodeError, "CSV: $[#{index - 1}] has #{rows[index].size} fields, and the header names #{@columns.size} columns: " \
                           "name all of them"
      end

      # The codec knows the names: all rows are data. What it reads under the key nil is one field more.
      def named(rows, names)
        places = names.each_with_index.uniq { |name, _| name }.to_h
        @columns = names
        @rows = rows.each_with_index.map do |row, index|
          fields = Array.new(names.size)
          row.each { |key, value| fields[key.nil? && !places.key?(nil) ? names.size : place(key, places, index)] = value }
          fields
        end
        check_names(rows, names.size)
      end

      def place(key, places, index)
        places.fetch(written(key)) do
          raise EncodeError.new("CSV: $[#{index}] has a key that is no column in the codec's headers", excerpt: key.inspect)
        end
      end

      def check_names(rows, width)
        rows.each_with_index do |row, index|
          next if row.keys.uniq { |key| written(key).to_s }.size == row.size

          raise EncodeError, "CSV: $[#{index}] has two keys for one column: write all of them as Strings, or as Symbols"
        end
        check_missing((width * rows.size) - rows.sum(&:size), rows.sum(&:size) + width, "the header has #{width}")
      end

      # A key that only a later row has would be lost with the keys of the first.
      def with_header(rows)
        names = rows.flat_map(&:keys).uniq
        present = rows.sum(&:size)
        check_missing((names.size * rows.size) - present, present, "together they have #{names.size} keys")
        twice, = names.group_by { |name| written(name).to_s }.find { |_, same| same.size > 1 }
        raise EncodeError, "CSV: two keys are the column #{twice.inspect}: write all of them as Strings, or as Symbols" if twice

        @header = true
        @columns = names.map { |name| written(name) }
        @rows = [names, *rows.map { |row| row.values_at(*names) }]
      end

      # @return [String, nil] a name as the codec reads it again: in UTF-8
      def written(name)
        text = name&.to_s
        text.nil? || text.ascii_only? ? text : UTF8.of(text) || text # which the writer refuses
      end

      def check_missing(missing, present, width)
        refusal = Missing.refusal(missing, present, @max_missing) or return
        raise EncodeError, "CSV: #{refusal} (#{width})"
      end
    end
  end
end
