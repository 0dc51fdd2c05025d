# frozen_string_literal: true

require "date"
require_relative "../digits"
require_relative "logical/timestamp"
require_relative "logical/date"
require_relative "logical/decimal"
require_relative "logical/scaled_decimal"
require_relative "logical/time_of_day"
require_relative "logical/uuid"
require_relative "logical/duration"

module Guildhall
  class Avro
    # Logical types: which converter belongs to which type.
    #
    # A converter has `decode(raw)` and `encode(value)`; each returns nil if it is not a value of its type. The types of time stamps
    # decode and encode Times in C, and come here for everything else.
    #
    # What is in the bytes and no value of the logical type comes as what it is without the logical type, Integer or String, and
    # is written as that again (`ext/guildhall/avro/build.c` and `fit.c`).
    #
    # | logical type | on | Ruby |
    # |---|---|---|
    # | date | int | Date |
    # | time-millis, time-micros | int, long | {TimeOfDay} |
    # | timestamp-millis, -micros, -nanos | long | Time in UTC |
    # | local-timestamp-millis, -micros, -nanos | long | Time in UTC that shows the local clock; written: what a Time's own clock shows |
    # | decimal | bytes, fixed | BigDecimal |
    # | big-decimal | bytes | BigDecimal |
    # | uuid | string, fixed(16) | String in lower case with dashes |
    # | duration | fixed(12) | {Duration} |
    class Logical
      NAMES = %w[date time-millis time-micros timestamp-millis timestamp-micros timestamp-nanos local-timestamp-millis
                 local-timestamp-micros local-timestamp-nanos decimal big-decimal uuid duration].freeze
      # Those that the gem avro knows; it gives the others as plain numbers and bytes.
      OF_GEM = %w[date timestamp-millis timestamp-micros timestamp-nanos decimal].freeze
      PLAIN = 0
      CONVERTED = 1
      # @api private
      DIGITS = Digits::MOST # of a decimal: a schema may come from anybody who can register one, and longer numbers take long
      LONGS = (-(2**63)...(2**63))
      private_constant :LONGS
      # The numbers of guildhall_avro_meaning.
      MEANINGS = {"timestamp-millis" => 2, "timestamp-micros" => 3, "timestamp-nanos" => 4,
                  "local-timestamp-millis" => 5, "local-timestamp-micros" => 6, "local-timestamp-nanos" => 7}.freeze

      # @return [String, nil] the meaning of its numbers or bytes, units and scale included; nil for a plain type
      def self.meaning(type)
        case [type.kind, type.logical]
        in [:int, "date" | "time-millis"] | [:long, "time-micros"] | [:bytes, "big-decimal"] | [:string, "uuid"] then type.logical
        in [:long, /\A(?:local-)?(timestamp-(?:millis|micros|nanos))\z/u] then Regexp.last_match(1)
        in [:fixed, "uuid" | "duration"] then type.logical if type.size == {"uuid" => 16, "duration" => 12}[type.logical]
        in [:bytes | :fixed, "decimal"] then "decimal of scale #{type.scale || 0}"
        else nil
        end
      end

      # @api private
      # @param number [Numeric] of units
      # @return [Integer, nil] without its fraction; nil for what has no end, or an imaginary part, and for what no long is (whose
      #   digits might be thousands of millions)
      def self.whole(number) = (number.to_i if number.real? && number.finite? && LONGS.cover?(number))

      # @return [Boolean] whether what was written would be read as something else. A type without a meaning takes any, and
      #   gives it to any.
      def self.conflict?(writer, reader)
        written = meaning(writer)
        wanted = meaning(reader)
        !written.nil? && !wanted.nil? && written != wanted
      end

      # @param names [true, false, Array<String>] all, none or these
      def initialize(names)
        @names = {true => NAMES, false => []}.fetch(names, names)
        Ractor.make_shareable(self)
      end

      # @return [Array(Integer, #decode)] what C makes of it, and the converter; nil if the type is not a logical one
      #   (an unknown logical type, and one on the wrong type, counts as none)
      def of(type)
        return unless type.logical && @names.include?(type.logical)

        case type.kind
        when :int then of_int(type.logical)
        when :long then of_long(type.logical)
        when :string then ([CONVERTED, UUID::TEXT] if type.logical == "uuid")
        when :bytes, :fixed then of_bytes(type)
        end
      end

      # @return [Array<String, nil>] the meaning of each type within, in the schema's order
      def readings(type, seen = {}.compare_by_identity)
        return [] if seen[type]

        seen[type] = true
        inside = [type.items, *type.branches, *type.fields&.map(&:type)].compact
        [(Logical.meaning(type) if of(type)), *inside.flat_map { |part| readings(part, seen) }]
      end

      # @return [Object, nil] the value of `raw` in this type; nil: it has none
      def decode(type, raw)
        _, converter = of(type)
        converter ? converter.decode(raw) : raw
      end

      private

      def of_int(name)
        case name
        when "date" then [CONVERTED, Date]
        when "time-millis" then [CONVERTED, TimeOfDay::MILLIS]
        end
      end

      def of_long(name)
        return [CONVERTED, TimeOfDay::MICROS] if name == "time-micros"

        [MEANINGS.fetch(name), Timestamp.const_get(name.sub("timestamp-", "").tr("-", "_").upcase)] if MEANINGS.key?(name)
      end

      def of_bytes(type)
        case [type.logical, type.size]
        in ["decimal", _] then decimal(type)
        in ["big-decimal", nil] then [CONVERTED, ScaledDecimal.load]
        in ["uuid", 16] then [CONVERTED, UUID::BYTES]
        in ["duration", 12] then [CONVERTED, Duration]
        else nil
        end
      end

      def decimal(type)
        precision = type.precision
        scale = type.scale || 0
        return unless precision.is_a?(Integer) && precision.positive? && scale.is_a?(Integer) && scale.between?(0, precision)
        raise SchemaError, "Avro schema: a decimal of #{precision} digits; #{DIGITS} are the most" if precision > DIGITS

        [CONVERTED, Decimal.new(precision, scale, type.size)]
      end
    end
  end
end
