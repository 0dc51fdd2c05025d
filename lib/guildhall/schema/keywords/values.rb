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
        EXCLUSIVE = {"minimum" => "exclusiveMinimum", "maximum" => "exclusiveMaximum"}.freeze
        private_constant :OPERATIONS, :LARGEST, :EXCLUSIVE

        def type(compilation, keyword, value)
          types = value.is_a?(Array) ? value : [value]
          unknown = types.find { |name| !TypeMask::BITS.key?(name) }
          compilation.refuse(keyword, "names #{unknown.inspect}, an unknown type") if unknown || types.empty?
          compilation.restrict(value)
        end

        def enum(compilation, keyword, value)
          compilation.refuse(keyword, "is an array of values") unless value.is_a?(Array)
          texts, rest = value.partition { |element| element.is_a?(String) }
          simple, others = rest.partition { |element| [nil, true, false].include?(element) }
          compilation.emit(:enum, keyword, value, texts, others, simple.include?(nil), simple.include?(true), simple.include?(false))
        end

        def const(compilation, keyword, value)
          enum(compilation, keyword, [value])
        end

        def number(compilation, keyword, value)
          return boundary(compilation, keyword, value) if compilation.dialect.draft4?

          compilation.refuse(keyword, "is a number") unless value.is_a?(Numeric)
          compilation.emit(OPERATIONS.fetch(keyword), keyword, value, value)
        end

        # Draft-04: `exclusiveMaximum: true` says that `maximum` itself is too large.
        def boundary(compilation, keyword, value)
          exclusive = EXCLUSIVE.key(keyword)
          return compilation.refuse(keyword, "is true or false in draft-04") if exclusive && ![true, false].include?(value)
          return if exclusive

          compilation.refuse(keyword, "is a number") unless value.is_a?(Numeric)
          keyword = EXCLUSIVE.fetch(keyword) if compilation.schema[EXCLUSIVE.fetch(keyword)] == true
          compilation.emit(OPERATIONS.fetch(keyword), keyword, value, value)
        end

        def multiple_of(compilation, keyword, value)
          compilation.refuse(keyword, "is a number above 0") unless value.is_a?(Numeric) && value.positive?
          compilation.emit(:multiple_of, keyword, value, value)
        end

        def limit(compilation, keyword, value)
          whole = value.is_a?(Numeric) && value >= 0 && value.finite? && Digits.of(value) <= Digits::MOST && value == value.floor
          compilation.refuse(keyword, "is a non-negative integer") unless whole
          compilation.emit(OPERATIONS.fetch(keyword), keyword, value, [value.to_i, LARGEST].min)
        end

        def pattern(compilation, keyword, value)
          compilation.emit(:pattern, keyword, value, regexp(compilation, keyword, value))
        end

        def format(compilation, keyword, value)
          return unless compilation.options.check_formats

          compilation.refuse(keyword, "is a string") unless value.is_a?(String)
          own = compilation.options.formats[value] || (Pattern::Format if value == "regex")
          return compilation.emit(:format_call, keyword, value, own) if own

          regexp = Formats::REGEXPS[value]
          return compilation.emit(:pattern, keyword, value, regexp) if regexp

          number = Program.format(value)
          compilation.emit(:format, keyword, value, number) if number
        end

        def regexp(compilation, keyword, source)
          compilation.refuse(keyword, "is a regular expression") unless source.is_a?(String)
          Pattern.compile(source, timeout: compilation.options.regexp_timeout)
        rescue Pattern::Error => error
          compilation.refuse(keyword, "is a regular expression: #{error.message}")
        end
      end
    end
  end
end
