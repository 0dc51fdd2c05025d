# frozen_string_literal: true

require "date"
require "time"
require_relative "../digits"
require_relative "../shareable"
require_relative "../soft_dependency"

module Guildhall
  class CSV
    # From a field's text to a typed value. (The gem's own converters are lambdas that only its main Ractor may read.)
    class Converters
      TYPES = %i[integer float decimal boolean date time].freeze
      BOOLEANS = {"true" => true, "t" => true, "yes" => true, "1" => true, "false" => false, "f" => false, "no" => false,
                  "0" => false}.freeze
      TIME_CHARACTERS = 128 # as many as Date.iso8601 takes: a year, or a fraction of a second, has any number of digits
      CLASSES = {integer: "an Integer", float: "a Float", decimal: "a number as it is", boolean: "true or false", date: "a Date",
                 time: "a Time"}.freeze # from what is written
      private_constant :TYPES, :BOOLEANS, :TIME_CHARACTERS, :CLASSES

      # @param headers [Boolean, Array<String>] the codec's: what its columns are called
      # @param max_digits [Integer] of numbers, written out
      # @raise [Guildhall::ArgumentError] also for a column that there never is
      # @raise [NotShareableError]
      # @raise [MissingDependencyError] for `:decimal` without the gem bigdecimal
      def initialize(given, headers, max_digits)
        @max_digits = max_digits
        @columns = given.is_a?(Hash) ? by_column(given, headers) : nil
        @every = check(given) unless given.nil? || @columns
        if [@every, *@columns&.values].include?(:decimal)
          SoftDependency.require!("bigdecimal", gem: "bigdecimal", purpose: "the converter :decimal of Guildhall::CSV")
        end
        Ractor.make_shareable(self)
      end

      def any? = !@every.nil? || !@columns.nil?

      # @return [Object] nil for nil
      # @raise [::ArgumentError] for what is not of the column's type
      def convert(column, text)
        converter = @every || @columns[column]
        return text if converter.nil? || text.nil?

        converter.is_a?(Symbol) ? typed(converter, text) : converter.call(text)
      end

      # @return [String, nil] the text that {#convert} reads as the value
      # @raise [Guildhall::ArgumentError] where none is
      def text(column, value)
        return if value.nil?

        type = @every || @columns&.[](column)
        return value.to_s unless type.is_a?(Symbol)

        text = written(type, value)
        unless read_as?(type, text, value)
          raise Guildhall::ArgumentError, "the column's converter, :#{type}, would not read it again: write #{CLASSES.fetch(type)}, or nil"
        end

        text
      end

      private

      def written(type, value)
        return value.to_s unless type == :time && (value.is_a?(Time) || value.is_a?(DateTime))

        time = value.to_time
        time = time.getutc unless (time.utc_offset % 60).zero?
        time.xmlschema(time.nsec.zero? ? 0 : 9)
      end

      # Texts are what the application has read elsewhere: they have to be of the type.
      def read_as?(type, text, value)
        made = typed(type, text)
        return true if value.is_a?(String) || value.is_a?(Symbol)
        return made == value.to_time.floor(9) if type == :time

        made == value || (nan?(made) && nan?(value))
      rescue ::ArgumentError
        false
      end

      def nan?(number) = number.respond_to?(:nan?) && number.nan?

      def by_column(given, headers)
        given.each_with_object({}) do |(column, converter), columns|
          key = column.is_a?(String) || column.is_a?(Symbol) ? UTF8.name(column, "converters") : column
          reason = columns.key?(key) ? "the column has another converter already" : misnamed(key, headers)
          raise Guildhall::ArgumentError, "Guildhall::CSV: converters: #{column.inspect}: #{reason}" if reason

          columns[key] = check(converter)
        end
      end

      def misnamed(column, headers)
        name = column.is_a?(String)
        return "columns are Strings, Symbols or indexes" unless name || column.is_a?(Integer)
        return ("without headers, columns are indexes from 0" if name || column.negative?) unless headers
        return "with headers, columns are names" unless name

        "no such column in headers" if headers.is_a?(Array) && !headers.include?(column)
      end

      def check(converter)
        return Shareable.callable!(converter, "converter") if converter.respond_to?(:call)
        return converter if TYPES.include?(converter)

        raise Guildhall::ArgumentError, "converters are #{TYPES.join(", ")} or callables, not #{converter.inspect}"
      end

      def typed(type, text)
        case type
        when :integer then Integer(limited(text, text.count("0-9")), 10)
        when :float then Float(text)
        when :decimal then BigDecimal(limited(text, Digits.in_text(text)))
        when :boolean then BOOLEANS.fetch(text.downcase) { raise ::ArgumentError, "no boolean: #{text.inspect}" }
        when :date then Date.iso8601(text)
        when :time then Time.iso8601(text.size > TIME_CHARACTERS ? raise(::ArgumentError, "too long for a time") : text)
        end
      end

      def limited(text, digits)
        return text if digits <= @max_digits

        raise ::ArgumentError, Digits.refusal(@max_digits)
      end
    end
  end
end
