# frozen_string_literal: true

require_relative "documents"
require_relative "row"

module Cost
  # JSON Schema and contracts: of a Document, of plain objects, valid or not, with one error or all.
  module SchemaRows
    NODE = {"$defs" => {"node" => {"anyOf" => [{"type" => "integer"}, {"type" => "array", "items" => {"$ref" => "#/$defs/node"}},
                                               {"type" => "object", "additionalProperties" => {"$ref" => "#/$defs/node"}}]}}, "$ref" => "#/$defs/node"}.freeze
    SCHEMAS = {
      "types" => {"type" => %w[array object], "items" => {"type" => "integer"}},
      "properties" => {"items" => {"type" => "object", "required" => %w[a b], "properties" => {"a" => {"type" => "integer"}}, "additionalProperties" => false}},
      "wide object" => {"type" => "object", "properties" => Array.new(60) { |i| ["k#{i}", {"type" => "integer"}] }.to_h, "additionalProperties" => {"minimum" => 0}},
      "patternProperties" => {"patternProperties" => {"^k" => {"type" => "integer"}, "0$" => true}, "additionalProperties" => false},
      "propertyNames" => {"propertyNames" => {"maxLength" => 8, "pattern" => "^[a-z0-9]+$"}},
      "uniqueItems" => {"uniqueItems" => true, "items" => {"uniqueItems" => true}},
      "enum" => {"items" => {"enum" => [1, "s1", nil, [1, 2], {"a" => 1}]}},
      "a long enum" => {"items" => {"enum" => Array.new(12) { |i| i } + Array.new(6) { |i| [i, i + 1] }}},
      "const" => {"items" => {"not" => {"const" => {"a" => [1, 2]}}}},
      "contains" => {"contains" => {"const" => -1}},
      "minContains" => {"contains" => {"type" => "array"}, "minContains" => 2, "maxContains" => 1_000_000},
      "oneOf" => {"items" => {"oneOf" => [{"type" => "integer"}, {"type" => "array"}, {"type" => "object"}]}},
      "anyOf of anyOf" => {"items" => {"anyOf" => [{"anyOf" => [{"type" => "null"}, {"type" => "string"}]}, {"items" => {"type" => "integer"}}]}},
      "recursion" => NODE,
      "recursion, all branches" => {"$defs" => {"node" => {"allOf" => [{"items" => {"$ref" => "#/$defs/node"}}, {"additionalProperties" => {"$ref" => "#/$defs/node"}}]}},
                                    "$ref" => "#/$defs/node"},
      "dynamic recursion" => {"$dynamicAnchor" => "node", "items" => {"$dynamicRef" => "#node"}, "additionalProperties" => {"$dynamicRef" => "#node"}},
      "unevaluatedProperties" => {"allOf" => [{"properties" => {"a" => true}}, {"patternProperties" => {"^k" => true}}], "unevaluatedProperties" => {"type" => "integer"}},
      "unevaluatedItems" => {"allOf" => [{"prefixItems" => [true, true]}, {"contains" => {"type" => "array"}}], "unevaluatedItems" => {"not" => {"const" => -1}}},
      "unevaluated at each level" => {"$defs" => {"node" => {"anyOf" => [{"properties" => {"a" => {"$ref" => "#/$defs/node"}, "b" => {"$ref" => "#/$defs/node"}}}],
                                                             "unevaluatedProperties" => true}}, "$ref" => "#/$defs/node"},
      "dependentRequired" => {"dependentRequired" => {"k1" => ["k2"], "a" => ["b"]}, "dependentSchemas" => {"k2" => {"minProperties" => 1}}},
      "lengths" => {"items" => {"minLength" => 1, "maxLength" => 1_000_000, "minItems" => 0, "minProperties" => 0}},
      "pattern" => {"items" => {"pattern" => "^[a-z]*[0-9]*$"}},
      "format" => {"items" => {"format" => "date-time"}},
      "numbers" => {"items" => {"minimum" => 0, "maximum" => 10**40, "multipleOf" => 1}},
      "multipleOf a decimal" => {"items" => {"multipleOf" => 0.01}},
      "if then else" => {"items" => {"if" => {"type" => "array"}, "then" => {"maxItems" => 5}, "else" => {"not" => {"type" => "null"}}}},
      "never" => {"items" => false, "additionalProperties" => false}
    }.freeze
    DOCUMENTS = Documents::JSON.except("much white space at once", "literals", "equal strings", "one long decimal", "halves between two floats", "escapes")
    DATES = {"dates" => ->(n) { Documents.list(n) { |i| "\"2026-01-01T00:00:#{format("%02d", i % 60)}Z\"" } }}.freeze

    OPERATIONS = {
      "valid? of a Document" => ->(validator, text, _) { validator.valid?(Guildhall::JSON.document(text)) },
      "valid? of objects" => ->(validator, _, value) { validator.valid?(value) },
      "errors of a Document" => ->(validator, text, _) { validator.errors(Guildhall::JSON.document(text)) },
      "error of objects" => ->(validator, _, value) { validator.error(value) }
    }.freeze

    # @param documents [Hash{String=>Proc}]
    def self.rows(documents = DOCUMENTS.merge(DATES).reject { |name, _| name.match?(/deep/) })
      codec = Guildhall::JSON.new(max_nesting: 1_000_000)
      SCHEMAS.flat_map do |keyword, schema|
        validator = Guildhall::Schema.new(schema, work_limit: 1_000_000_000).validator
        documents.flat_map do |document, payload|
          OPERATIONS.map do |operation, work|
            row(document, "#{keyword}, #{operation}", payload, ->((text, value)) { work.call(validator, text, value) }, ->(text) { [text, codec.decode(text)] })
          end
        end
      end
    end

    def self.row(document, operation, payload, work, subject)
      Row.new(codec: "Schema", document:, operation:, payload:, work:, subject:, units: 80)
    end
  end
end
