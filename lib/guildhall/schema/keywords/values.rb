# frozen_string_literal: true

module Guildhall
  class Schema
    module Keywords
      # Keywords about a value itself: its type, its size, the values it may have.
      module Values
        OPERATIONS = {
          "minimum" => :minimum, "maximum" => :maximum, "exclusiveMinimum" => :exclusive_minimum,
          "exclusiveMaximum" => :exclusive_maximum, "minLength" => :min_length, "maxLength" => :max_length,
          "minItems" => :min_items, "maxItems" => :max_items, "minProperties" => :min_properties, "maxProperties" => :max_properties
        }.freeze
        LARGEST = (2**62) - 1
        private_constant :OPERATIONS, :LARGEST

        def type(unit, keyword, value)
          types = value.is_a?(Array) ? value : [value]
          unknown = types.find { |name| !Kinds::BITS.key?(name) }
          unit.refuse(keyword, "names #{unknown.inspect}, which is no type") if unknown || types.empty?
          unit.restrict(value)
        end

        def enum(unit, keyword, value)
          unit.refuse(keyword, "is an array of values") unless value.is_a?(Array)
          texts, rest = value.partition { |element| element.is_a?(String) }
          simple, others = rest.partition { |element| [nil, true, false].include?(element) }
          unit.emit(:enum, keyword, value, texts, others, simple.include?(nil), simple.include?(true), simple.include?(false))
        end

        def const(unit, keyword, value)
          enum(unit, keyword, [value])
        end

        def number(unit, keyword, value)
          unit.refuse(keyword, "is a number") unless value.is_a?(Numeric)
          unit.emit(OPERATIONS.fetch(keyword), keyword, value, value)
        end

        def multiple_of(unit, keyword, value)
          unit.refuse(keyword, "is a number above 0") unless value.is_a?(Numeric) && value.positive?
          unit.emit(:multiple_of, keyword, value, value)
        end

        def limit(unit, keyword, value)
          whole = value.is_a?(Numeric) && value >= 0 && value == value.floor
          unit.refuse(keyword, "is a non-negative integer") unless whole
          unit.emit(OPERATIONS.fetch(keyword), keyword, value, [value.to_i, LARGEST].min)
        end

        def pattern(unit, keyword, value)
          unit.emit(:pattern, keyword, value, regexp(unit, keyword, value))
        end

        def format(unit, keyword, value)
          return unless unit.options.check_formats

          unit.refuse(keyword, "is a string") unless value.is_a?(String)
          own = unit.options.formats[value] || (Pattern::Format if value == "regex")
          return unit.emit(:format_call, keyword, value, own) if own

          number = Program.format(value)
          unit.emit(:format, keyword, value, number) if number
        end

        def regexp(unit, keyword, source)
          unit.refuse(keyword, "is a regular expression") unless source.is_a?(String)
          Pattern.compile(source, timeout: unit.options.regexp_timeout)
        rescue Pattern::Error => error
          unit.refuse(keyword, "is a regular expression: #{error.message}")
        end
      end
    end
  end
end
