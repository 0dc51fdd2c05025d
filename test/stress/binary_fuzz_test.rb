# frozen_string_literal: true

require "test_helper"
require "support/fuzz_program"
require "tmpdir"

# The readers of MessagePack and Avro in C, without Ruby, on mutated payloads under AddressSanitizer and
# UndefinedBehaviorSanitizer. SEED= repeats a run, COUNT= makes it longer.
class BinaryFuzzTest < GuildhallTest
  include FuzzProgram

  SEED = Integer(ENV.fetch("SEED", Random.new_seed % 1_000_000))
  COUNT = Integer(ENV.fetch("COUNT", 200_000))

  def test_sanitizers
    puts "binary fuzz: SEED=#{SEED} COUNT=#{COUNT}"
    Dir.mktmpdir do |folder|
      out = run_fuzz(fuzz_program(folder, "binary_fuzz"), SEED, COUNT, binary_corpus(folder, SEED))
      valid = out.scan(/(\d+) valid/).flatten.map(&:to_i)
      assert(valid.size == 2 && valid.all? { |number| number > COUNT / 50 }, "hardly anything was valid: #{out}")
    end
  end
end
