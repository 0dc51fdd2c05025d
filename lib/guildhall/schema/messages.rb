# frozen_string_literal: true

module Guildhall
  class Schema
    # An error in words, by keyword; `%s` is the keyword's value in the schema or, after `:detail`, what was found.
    module Messages
      TEXTS = {
        "type" => "is not of type %s", "enum" => "is not one of %s", "const" => "is not %s",
        "minimum" => "is less than %s", "maximum" => "is greater than %s",
        "exclusiveMinimum" => "is not greater than %s", "exclusiveMaximum" => "is not less than %s",
        "multipleOf" => "is not a multiple of %s",
        "minLength" => "is shorter than %s characters", "maxLength" => "is longer than %s characters",
        "pattern" => "does not match the pattern %s", "format" => "is not a valid %s",
        "minItems" => "has fewer than %s elements", "maxItems" => "has more than %s elements",
        "uniqueItems" => "has duplicate elements", "contains" => "has too few or too many elements that match contains",
        "minProperties" => "has fewer than %s properties", "maxProperties" => "has more than %s properties",
        "anyOf" => "matches none of the schemas in anyOf", "not" => "matches the schema in not",
        "additionalProperties" => "is not allowed", "unevaluatedProperties" => "is not allowed",
        "items" => "is not allowed", "additionalItems" => "is not allowed", "unevaluatedItems" => "is not allowed",
        "required" => "is missing required property :detail", "dependentRequired" => "is missing required property :detail",
        "dependencies" => "is missing required property :detail"
      }.freeze
      QUOTED = 120 # characters of a schema's value that a message shows
      private_constant :TEXTS, :QUOTED

      def self.message(keyword, operand, detail)
        return one_of(detail) if keyword == "oneOf"

        text = TEXTS[keyword] or return custom(keyword, detail)
        text.sub(":detail") { quote(detail) }.sub("%s") { words(keyword, operand) }
      end

      # @param detail [Object] false: the schema is `false` and its own location says all
      def self.location(schema, keyword, detail)
        detail == false ? schema : "#{schema}/#{Pointer.escape(keyword)}"
      end

      # What the errors of a schema `false` have for a keyword, unless the keyword that holds it says it better.
      NEVER = "false"

      def self.one_of(count)
        count.zero? ? "matches none of the schemas in oneOf" : "matches more than one of the schemas in oneOf"
      end
      private_class_method :one_of

      def self.custom(keyword, detail)
        return "is not allowed" if keyword == NEVER

        detail.is_a?(String) ? Printable.utf8(detail) : "fails #{keyword}"
      end
      private_class_method :custom

      def self.words(keyword, operand)
        return Array(operand).join(" or ") if keyword == "type"
        return operand if keyword == "format"
        return operand.map { |value| quote(value) }.join(", ")[0, QUOTED] if keyword == "enum"

        quote(operand)
      end
      private_class_method :words

      def self.quote(value)
        text = value.inspect
        text.size > QUOTED ? "#{text[0, QUOTED]}…" : text
      end
      private_class_method :quote
    end
  end
end
