# frozen_string_literal: true

module Guildhall
  class Schema
    class Contract
      # The properties of an object, as the block of a contract says them.
      class Properties
        TYPES = {
          String => "string", Integer => "integer", Float => "number", Numeric => "number", Hash => "object", Array => "array",
          TrueClass => "boolean", FalseClass => "boolean", NilClass => "null", boolean: "boolean"
        }.freeze
        OPTIONS = %i[range length size one_of format match satisfies message null].freeze
        private_constant :TYPES, :OPTIONS

        # @param predicates [Hash] filled with what the schema needs as own keywords
        # @param regexp_timeout [Numeric] of the schema
        def initialize(predicates, regexp_timeout)
          @predicates = predicates
          @regexp_timeout = regexp_timeout
          @properties = {}
          @required = []
          @own = {}
        end

        # @return [Properties] itself
        def read(block)
          block.arity == 1 ? block.call(self) : instance_exec(&block)
          self
        end

        # A property that has to be there.
        # @param type [Class, Symbol, Array, nil] `String`, `Integer`, `Numeric`, `:boolean`, `Hash`, `Array`;
        #   `[String]`: an array of Strings; nil: any
        # @param range [Range, nil] of a number
        # @param length [Range, Integer, nil] of a String, in characters
        # @param size [Range, Integer, nil] of an Array
        # @param one_of [Array, nil] the values it may have
        # @param format [String, nil] a JSON Schema format: `"email"`
        # @param match [Regexp, nil] for Strings
        # @param satisfies [#call, nil] `call(value)` answers whether it is valid; shareable
        # @param message [String, nil] what `match` and `satisfies` say of what is invalid
        # @param null [Boolean] whether nil will do as well
        # @yield the properties of the object, or of each object of the array
        def required(name, type = nil, **, &)
          @required << name.to_s
          optional(name, type, **, &)
        end

        # A property that may be left out.
        # @see #required
        def optional(name, type = nil, **options, &block)
          name = Source.text(name.to_s, "property")
          unknown = (options.keys - OPTIONS).first
          raise Guildhall::ArgumentError, "#{name}: #{OptionRules.unknown("option #{unknown}", unknown, OPTIONS)}" if unknown

          @properties[name] = property(name, type, options, block)
        end

        # No other properties.
        def closed
          @own["additionalProperties"] = false
        end

        # Something about the whole object.
        # @param callable [#call, nil] nil: the block; `call(object)` answers whether it is valid; shareable
        def rule(message, callable = nil, &block)
          @own.update(predicate(callable || block, message))
        end

        def to_schema
          {"type" => "object", "properties" => @properties, "required" => @required, **@own}
        end

        private

        def property(name, type, options, block)
          schema = {**typed(name, type, block), **limits(options), **predicates(options)}
          schema["enum"] = options[:one_of] if options[:one_of]
          schema["format"] = options[:format] if options[:format]
          options[:null] ? {"anyOf" => [{"type" => "null"}, schema]} : schema
        end

        def typed(name, type, block)
          return nested(block) if block && (type.nil? || type == Hash)
          return {"type" => "array", "items" => typed(name, type.first, block)} if type.is_a?(Array) && type.size == 1
          return {} if type.nil?

          {"type" => TYPES.fetch(type) { raise Guildhall::ArgumentError, "#{name}: no type #{type.inspect}; there are #{TYPES.keys.join(", ")}" }}
        end

        def nested(block)
          Properties.new(@predicates, @regexp_timeout).read(block).to_schema
        end

        def limits(options)
          {**bounds(options[:range], "minimum", "maximum"), **sizes(options[:length], "minLength", "maxLength"),
           **sizes(options[:size], "minItems", "maxItems")}
        end

        def bounds(range, least, most)
          return {} if range.nil?
          raise Guildhall::ArgumentError, "range: is a Range, not #{range.inspect}" unless range.is_a?(Range)

          most = "exclusiveMaximum" if range.exclude_end?
          {least => range.begin, most => range.end}.compact
        end

        def sizes(range, least, most)
          return {least => range, most => range} if range.is_a?(Integer)
          return {} if range.nil?

          {least => range.begin, most => range.end && (range.exclude_end? ? range.end - 1 : range.end)}.compact
        end

        def predicates(options)
          options.values_at(:match, :satisfies).compact.map { |callable| predicate(callable, options[:message]) }.reduce({}, :merge)
        end

        def predicate(callable, message)
          keyword = "predicate #{@predicates.size + 1}"
          @predicates[keyword] = Predicate.new(callable, message, @regexp_timeout)
          {keyword => true}
        end
      end
    end
  end
end
