# frozen_string_literal: true

require "test_helper"
require "json"
require "guildhall/schema"
require "json_schemer"
require "support/schema_in_rust"

# Random schemas and random values: the walk over a Document, the walk over the value and two other implementations
# have to agree. A disagreement of the other two with each other proves nothing and is counted.
class SchemaFuzzTest < GuildhallTest
  ROUNDS = Integer(ENV.fetch("ROUNDS", 20_000))
  NAMES = %w[a b c ab].freeze
  SCALARS = [nil, true, false, 0, 1, -1, 2, 1.0, 1.5, 0.1, 3, 10**19, "", "a", "ab", "é", "\n", "1"].freeze

  def setup = SchemaInRust::THERE || skip("jsonschema_rs does not build on this Ruby")

  def test_agrees_with_others
    seed = Integer(ENV.fetch("SEED", Random.new_seed))
    puts "schema fuzz: SEED=#{seed} ROUNDS=#{ROUNDS}"
    random = Random.new(seed)
    undecided = ROUNDS.times.sum { |round| round(random, round) }
    assert_operator undecided, :<, ROUNDS / 20
  end

  private

  def round(random, round)
    schema = {"$schema" => "https://json-schema.org/draft/2020-12/schema", "$defs" => {"d" => definition(random)}, **hash_schema(random, 3)}
    ours = Guildhall::Schema.new(schema).validator
    rust = JSONSchema.validator_for(schema, validate_formats: true)
    ruby = JSONSchemer.schema(schema)
    4.times.sum do
      value = value(random, 3)
      verdict = ours.valid?(value)
      text = JSON.generate([value])
      document = Guildhall::JSON.document(text)
      inner = Guildhall::Schema.new({"prefixItems" => [{"$ref" => "urn:x"}]}, registry: {"urn:x" => schema}).validator
      assert_equal verdict, inner.valid?(document), -> { "round #{round}: Document\n#{JSON.generate(schema)}\n#{text}" }
      assert_equal verdict, ours.errors(value).empty?, -> { "round #{round}: errors\n#{JSON.generate(schema)}\n#{text}" }
      others = [rust.valid?(value), ruby.valid?(value)]
      next 1 if others.uniq.size > 1

      assert_equal others.first, verdict, -> { "round #{round}\n#{JSON.generate(schema)}\n#{JSON.generate(value)}" }
      0
    end
  end

  # Without references: one to itself might never end.
  def definition(random)
    loop do
      definition = schema(random, 2)
      return definition unless definition.to_s.include?("$ref")
    end
  end

  def schema(random, depth)
    return random.rand(2).zero? if random.rand(12).zero?

    hash_schema(random, depth)
  end

  def hash_schema(random, depth)
    random.rand(1..3).times.reduce({}) { |schema, _| schema.merge(keyword(random, depth)) }
  end

  def keyword(random, depth)
    depth.positive? && random.rand(3).positive? ? applicator(random, depth - 1) : assertion(random)
  end

  def assertion(random)
    case random.rand(12)
    when 0 then {"type" => %w[null boolean integer number string array object].sample(random.rand(1..3), random:)}
    when 1 then {"enum" => Array.new(3) { value(random, 1) }.uniq}
    when 2 then {"const" => value(random, 1)}
    when 3 then {"minimum" => [0, 1.5, -1].sample(random:)}
    when 4 then {"exclusiveMaximum" => [1, 2.5, 10**19].sample(random:)}
    when 5 then {"multipleOf" => [1, 2, 0.5].sample(random:)}
    when 6 then {"minLength" => random.rand(3)}
    when 7 then {"pattern" => ["^a", "b$", "^[^a]*$", "\\d"].sample(random:)}
    when 8 then {"maxItems" => random.rand(4)}
    when 9 then {"uniqueItems" => true}
    when 10 then {"required" => NAMES.sample(random.rand(1..2), random:)}
    else {"maxProperties" => random.rand(4)}
    end
  end

  def applicator(random, depth)
    inner = -> { schema(random, depth) }
    case random.rand(16)
    when 0, 1 then {"properties" => NAMES.sample(2, random:).to_h { |name| [name, inner.call] }}
    when 2 then {"patternProperties" => {%w[^a b].sample(random:) => inner.call}}
    when 3 then {"additionalProperties" => inner.call}
    when 4 then {"propertyNames" => {"maxLength" => random.rand(3)}}
    when 5 then {"items" => inner.call}
    when 6 then {"prefixItems" => [inner.call, inner.call]}
    when 7 then {"contains" => inner.call, "minContains" => random.rand(3), "maxContains" => random.rand(1..3)}
    when 8 then {"allOf" => [inner.call, inner.call]}
    when 9 then {"anyOf" => [inner.call, inner.call]}
    when 10 then {"oneOf" => [inner.call, inner.call]}
    when 11 then {"not" => inner.call}
    when 12 then {"if" => inner.call, "then" => inner.call, "else" => inner.call}
    when 13 then {"dependentSchemas" => {NAMES.sample(random:) => inner.call}}
    when 14 then [{"unevaluatedProperties" => inner.call}, {"unevaluatedItems" => inner.call}].sample(random:)
    else {"$ref" => "#/$defs/d"}
    end
  end

  def value(random, depth)
    case random.rand(depth.positive? ? 4 : 1)
    when 0, 1 then SCALARS.sample(random:)
    when 2 then Array.new(random.rand(4)) { value(random, depth - 1) }
    else NAMES.sample(random.rand(4), random:).to_h { |name| [name, value(random, depth - 1)] }
    end
  end
end
