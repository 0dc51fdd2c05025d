# frozen_string_literal: true

module Guildhall
  class Schema
    # From a keyword to instructions. Each compiles itself by the method named here, `(compilation, keyword, value)`; keywords
    # that only mean something together (`properties`, `patternProperties`, `additionalProperties`, …) are compiled as
    # groups once all others are done.
    module Keywords
      ASSERTIONS = {
        "type" => :type, "enum" => :enum, "const" => :const, "minimum" => :number, "maximum" => :number,
        "exclusiveMinimum" => :number, "exclusiveMaximum" => :number, "multipleOf" => :multiple_of,
        "minLength" => :limit, "maxLength" => :limit, "minItems" => :limit, "maxItems" => :limit,
        "minProperties" => :limit, "maxProperties" => :limit, "uniqueItems" => :unique_items, "pattern" => :pattern,
        "dependentRequired" => :dependent_required
      }.freeze
      # Those of other vocabularies: they count whatever a meta-schema leaves out.
      OTHERS = {
        "format" => :format,
        "allOf" => :list, "anyOf" => :list, "oneOf" => :list, "not" => :not_schema, "if" => :branch, "$ref" => :reference,
        "$dynamicRef" => :dynamic_reference, "$recursiveRef" => :recursive_reference,
        "dependentSchemas" => :dependent_schemas, "dependencies" => :dependencies
      }.freeze
      OPERATIONS = {
        "minimum" => :minimum, "maximum" => :maximum, "exclusiveMinimum" => :exclusive_minimum,
        "exclusiveMaximum" => :exclusive_maximum, "minLength" => :min_length, "maxLength" => :max_length,
        "minItems" => :min_items, "maxItems" => :max_items, "minProperties" => :min_properties, "maxProperties" => :max_properties,
        "allOf" => :all_of, "anyOf" => :any_of, "oneOf" => :one_of
      }.freeze
      LARGEST = (2**62) - 1
      EXCLUSIVE = {"minimum" => "exclusiveMinimum", "maximum" => "exclusiveMaximum"}.freeze
      PROPERTIES = %w[properties patternProperties additionalProperties propertyNames required].freeze
      private_constant :ASSERTIONS, :OTHERS, :OPERATIONS, :LARGEST, :EXCLUSIVE, :PROPERTIES

      class << self
        def compile(compilation, keyword, value)
          return custom(compilation, keyword, value) if compilation.options.keywords.key?(keyword)
          return if compilation.dialect.unknown.include?(keyword)

          name = OTHERS[keyword] || (ASSERTIONS[keyword] if compilation.dialect.assertions)
          send(name, compilation, keyword, value) if name
        end

        def compile_groups(compilation)
          items(compilation)
          contains(compilation)
          properties(compilation)
          unevaluated(compilation)
        end

        def reference(compilation, keyword, value)
          compilation.refuse(keyword, "is a URI reference") unless value.is_a?(String)
          compilation.emit(:ref, keyword, value, compilation.refer(value))
        end

        private

        def custom(compilation, keyword, value)
          compilation.emit(:custom, keyword, value, compilation.options.keywords.fetch(keyword))
        end

        # About a value itself: its type, its size, the values it may have.

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

        # About the elements of arrays.

        def unique_items(compilation, keyword, value)
          compilation.refuse(keyword, "is true or false") unless [true, false].include?(value)
          compilation.emit(:unique_items, keyword, value) if value
        end

        # First by position, then one schema for the rest; the drafts name these differently.
        def items(compilation)
          prefix_keyword, rest_keyword = compilation.dialect.item_lists? ? listed_items(compilation) : %w[prefixItems items]
          prefix = compilation.schema[prefix_keyword] || []
          compilation.refuse(prefix_keyword, "is an array of schemas") unless prefix.is_a?(Array)
          return if prefix.empty? && !compilation.key?(rest_keyword)

          indexes = prefix.each_index.map { |index| compilation.child(prefix_keyword, index) }
          compilation.emit(:items, rest_keyword, compilation.schema[rest_keyword], indexes, compilation.optional(rest_keyword))
        end

        # `minContains: 0` makes `contains` hold for everything; it still says which elements are spoken about.
        def contains(compilation)
          return unless compilation.key?("contains")

          schema = compilation.schema
          at_least, at_most = compilation.dialect.old? ? [1, nil] : schema.values_at("minContains", "maxContains")
          unless compilation.dialect.assertions
            at_least = 1
            at_most = nil
          end
          counts = [at_least, at_most].compact
          compilation.refuse("contains", "counts elements") unless counts.all? do |value|
            value.is_a?(Numeric) && value >= 0 && value.finite? && Digits.of(value) <= Digits::MOST
          end
          compilation.emit(:contains, "contains", schema["contains"], compilation.child("contains"), at_least&.to_i, at_most&.to_i,
            compilation.dialect.contains_evaluates?)
        end

        def listed_items(compilation)
          compilation.schema["items"].is_a?(Array) ? %w[items additionalItems] : ["", "items"]
        end

        # About the properties of objects.

        # All that is said of single properties, as one instruction: the walker goes through them once.
        def properties(compilation)
          return unless PROPERTIES.any? { |keyword| compilation.key?(keyword) }

          properties = map(compilation, "properties")
          patterns = map(compilation, "patternProperties")
          compilation.emit(:properties, "properties", nil,
            properties.keys, children(compilation, "properties", properties), required(compilation),
            patterns.keys.map { |source| regexp(compilation, "patternProperties", source) },
            children(compilation, "patternProperties", patterns),
            compilation.optional("additionalProperties"), compilation.optional("propertyNames"))
        end

        def dependent_required(compilation, keyword, value)
          lists = value.is_a?(Hash) && value.values.all? { |names| names?(names) }
          compilation.refuse(keyword, "is an object of arrays of names") unless lists
          compilation.emit(:dependent_required, keyword, value, value.keys, value.values)
        end

        def dependent_schemas(compilation, keyword, value)
          names = map(compilation, keyword).keys
          compilation.emit(:dependent_schemas, keyword, value, names, children(compilation, keyword, value))
        end

        # Draft-07: one keyword for both of the above.
        def dependencies(compilation, keyword, value)
          required, schemas = map(compilation, keyword).partition { |_, dependency| dependency.is_a?(Array) }.map(&:to_h)
          compilation.emit(:dependent_required, keyword, value, required.keys, required.values) if required.any?
          compilation.emit(:dependent_schemas, keyword, value, schemas.keys, children(compilation, keyword, schemas)) if schemas.any?
        end

        def map(compilation, keyword)
          value = compilation.schema.fetch(keyword, {})
          value.is_a?(Hash) ? value : compilation.refuse(keyword, "is an object of schemas")
        end

        def children(compilation, keyword, names)
          names.keys.map { |name| compilation.child(keyword, name) }
        end

        def required(compilation)
          value = compilation.schema.fetch("required", [])
          compilation.refuse("required", "is an array of names") unless names?(value)
          compilation.dialect.assertions ? value.uniq : []
        end

        def names?(value)
          value.is_a?(Array) && value.all?(String)
        end

        # Further schemas for the same value.

        def list(compilation, keyword, value)
          compilation.refuse(keyword, "is an array of schemas") unless value.is_a?(Array) && !value.empty?
          compilation.emit(OPERATIONS.fetch(keyword), keyword, nil, value.each_index.map { |index| compilation.child(keyword, index) })
        end

        def not_schema(compilation, keyword, _value)
          compilation.emit(:not, keyword, nil, compilation.child(keyword))
        end

        def branch(compilation, keyword, _value)
          compilation.emit(:if, keyword, nil, compilation.child("if"), compilation.optional("then"), compilation.optional("else"))
        end

        # Where the reference leads to no `$dynamicAnchor` of that name, it is a plain one.
        def dynamic_reference(compilation, keyword, value)
          compilation.refuse(keyword, "is a URI reference") unless value.is_a?(String)
          name = value[%r{#([^/].*)\z}mu, 1]
          refer(compilation, keyword, value, name) { |schema| name && schema["$dynamicAnchor"] == name }
        end

        # 2019-09: to the outermost of the resources on the way that say `$recursiveAnchor: true`, if the nearest says so.
        def recursive_reference(compilation, keyword, value)
          compilation.refuse(keyword, 'is "#"') unless value == "#"
          refer(compilation, keyword, value, Resources::RECURSIVE) { |schema| schema["$recursiveAnchor"] == true }
        end

        def refer(compilation, keyword, value, name)
          schema = compilation.find(value).schema
          return reference(compilation, keyword, value) unless schema.is_a?(Hash) && yield(schema)

          compilation.emit(:dynamic_ref, keyword, value, compilation.refer(value), *compilation.dynamic(name))
        end

        def unevaluated(compilation)
          {"unevaluatedItems" => :unevaluated_items, "unevaluatedProperties" => :unevaluated_properties}.each do |keyword, operation|
            compilation.emit(operation, keyword, compilation.schema[keyword], compilation.child(keyword)) if compilation.key?(keyword)
          end
        end
      end
    end
  end
end
