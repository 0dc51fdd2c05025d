# frozen_string_literal: true

require "test_helper"
require "support/ecma_differential"

# Expressions mean what they mean to node, where node is (NODE=/its/path). For long: test/stress/schema_pattern_fuzz_test.rb
class SchemaPatternDifferentialTest < GuildhallTest
  def test_random_expressions
    skip("no node here") unless EcmaPatterns.available?
    random = Random.new(seed = Random.new_seed)
    differences = []
    tally = EcmaDifferential.run(1_000, random) { |difference| differences << difference }
    assert differences.empty?, "seed #{seed}: #{differences.first(5).join("\n")}"
    assert_operator tally[:compared_u], :>, 200, tally.inspect
  end
end
