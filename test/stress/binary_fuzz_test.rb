# frozen_string_literal: true

require "test_helper"
require "support/mutator"
require "support/avro_gem"
require "guildhall/msgpack"
require "guildhall/avro"
require "tmpdir"

# The readers in C, without Ruby, on mutated payloads under AddressSanitizer and UndefinedBehaviorSanitizer. SEED=
# repeats a run, COUNT= makes it longer.
class BinaryFuzzTest < GuildhallTest
  ROOT = File.expand_path("../..", __dir__)
  SEED = Integer(ENV.fetch("SEED", Random.new_seed % 1_000_000))
  COUNT = Integer(ENV.fetch("COUNT", 200_000))
  EVERYTHING = {type: "record", name: "R", fields: [
    {name: "n", type: "long"}, {name: "s", type: "string"}, {name: "d", type: "double"}, {name: "b", type: "boolean"},
    {name: "f", type: {type: "fixed", name: "F", size: 3}}, {name: "e", type: {type: "enum", name: "E", symbols: %w[A B]}},
    {name: "l", type: {type: "array", items: "R"}}, {name: "m", type: {type: "map", values: "R"}}, {name: "u", type: %w[null R]},
    {name: "z", type: {type: "array", items: "null"}}
  ]}.freeze

  def test_sanitizers
    Dir.mktmpdir do |folder|
      program = build(folder)
      corpus = File.join(folder, "corpus")
      File.binwrite(corpus, payloads.map { |bytes| [bytes.bytesize].pack("N") + bytes }.join)
      out, err, status = run_command([program, SEED.to_s, COUNT.to_s, corpus], timeout: 3600, env: {"UBSAN_OPTIONS" => "halt_on_error=1"})
      assert_predicate status, :success?, "SEED=#{SEED}\n#{out}\n#{err[0, 4000]}"
      assert(out.scan(/\d+/).all? { |number| number.to_i > COUNT / 50 }, "hardly anything was valid: #{out}")
    end
  end

  private

  def build(folder)
    program = File.join(folder, "binary_fuzz")
    source = File.join(ROOT, "ext/guildhall")
    files = Dir[File.join(source, "{msgpack/msgpack_{token,read,walk},avro/avro_{input,read,walk},document/{notes,key_index,document_path},utf8*,simd}.c")]
    out, err, status = run_command(["cc", "-std=gnu11", "-D_GNU_SOURCE", "-g", "-O1", "-Wall", "-Wextra", "-fsanitize=address,undefined",
                                    "-fno-sanitize-recover=undefined", "-I#{source}", File.join(__dir__, "binary_fuzz.c"), *files, "-lpthread", "-o", program])
    assert_predicate status, :success?, "#{out}\n#{err}"
    program
  end

  def payloads
    random = Random.new(SEED)
    values = Array.new(60) { Guildhall::MessagePack.encode(Generated.value(random)) }
    large = Guildhall::MessagePack.encode(Array.new(100) { |number| ["key#{number}", number] }.to_h)
    codec = Guildhall::Avro.new(EVERYTHING)
    [*values, large, *Array.new(40) { codec.encode(everything(random, 2)) }]
  end

  def everything(random, depth)
    inside = depth.positive? ? Array.new(random.rand(3)) { everything(random, depth - 1) } : []
    {"n" => random.rand(2**64) - (2**63), "s" => "x" * random.rand(90), "d" => 1.5, "b" => true, "f" => "abc", "e" => "B", "l" => inside,
     "m" => inside.each_with_index.to_h { |value, index| ["k#{index}", value] }, "u" => inside.first, "z" => [nil] * random.rand(4)}
  end
end
