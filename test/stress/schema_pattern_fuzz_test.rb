# frozen_string_literal: true

require "test_helper"
require "support/ecma_differential"

# Random expressions of ECMA-262: what node matches, Guildhall's translation matches, or it is refused.
class SchemaPatternFuzzTest < GuildhallTest
  ROUNDS = Integer(ENV.fetch("ROUNDS", 100_000))

  def test_agrees_with_node
    skip("no node here") unless EcmaPatterns.available?
    seed = Integer(ENV.fetch("SEED", Random.new_seed))
    differences = []
    tally = EcmaDifferential.run(ROUNDS, Random.new(seed)) { |difference| differences << difference }
    puts "schema pattern fuzz: SEED=#{seed} ROUNDS=#{ROUNDS} #{tally}"
    assert differences.empty?, differences.first(20).join("\n")
  end
end
