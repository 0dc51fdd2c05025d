# frozen_string_literal: true

require "guildhall/avro"
require "guildhall/json"
require "guildhall/msgpack"
require_relative "json_values"
require_relative "mutator"
require_relative "webhooks"
require_relative "../../ext/guildhall/json/powers_of_five"

# The programs that feed mutated payloads to the readers in C, without Ruby in them, and what they begin with.
module FuzzProgram
  ROOT = File.expand_path("../..", __dir__)
  SOURCE = File.join(ROOT, "ext/guildhall")
  FILES = {
    "json_fuzz" => "{json/{parse,parse_avx2,parse_base,parse_portable,duplicates,tape,number,index,locate,shortest,source},document/{key_index,path},text/{utf8*,simd,hash}}.c",
    "binary_fuzz" => "{msgpack/{token,read},avro/{input,read},document/{structural_index,key_index,path},text/{utf8*,simd}}.c",
    "text_fuzz" => "{schema/format,text/{utf8*,simd}}.c"
  }.freeze
  SANITIZED = %w[-O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined].freeze
  # A record of everything, which holds itself.
  EVERYTHING = {type: "record", name: "R", fields: [
    {name: "n", type: "long"}, {name: "s", type: "string"}, {name: "d", type: "double"}, {name: "b", type: "boolean"},
    {name: "f", type: {type: "fixed", name: "F", size: 3}}, {name: "e", type: {type: "enum", name: "E", symbols: %w[A B]}},
    {name: "l", type: {type: "array", items: "R"}}, {name: "m", type: {type: "map", values: "R"}}, {name: "u", type: %w[null R]},
    {name: "z", type: {type: "array", items: "null"}}
  ]}.freeze

  # @param folder [String] where to put the program and its corpus
  # @param name [String] a key of FILES
  # @return [String] its path
  def fuzz_program(folder, name, compiler: "cc", flags: SANITIZED)
    program = File.join(folder, "#{name}-#{compiler}")
    PowersOfFive.write(File.join(folder, "powers_of_five.h"))
    command = [compiler, "-std=gnu11", "-D_GNU_SOURCE", "-g", "-Wall", "-Wextra", *flags, "-I#{SOURCE}", "-I#{SOURCE}/include", "-I#{folder}", File.join(ROOT, "test/stress/#{name}.c"),
               *Dir[File.join(SOURCE, FILES.fetch(name))], "-lpthread", "-lm", "-o", program]
    out, err, status = run_command(command, timeout: 300)
    assert_predicate status, :success?, "#{command.join(" ")}\n#{out}\n#{err}"
    program
  end

  # @return [String] what the program says; the test fails unless it succeeds
  def run_fuzz(program, seed, rounds, corpus, env: {}, emulator: [])
    out, err, status = run_command([*emulator, program, seed.to_s, rounds.to_s, corpus], timeout: 3600,
      env: {"UBSAN_OPTIONS" => "halt_on_error=1", **env})
    assert_predicate status, :success?, "SEED=#{seed} #{env}\n#{out}\n#{err[0, 4000]}"
    out
  end

  # @return [String] the path of a file of JSON texts, one a line
  def json_corpus(folder, seed)
    write(folder, "json", json_texts(seed).join("\n"))
  end

  TEXTS = [
    "2024-02-29", "2023-12-31T23:59:60Z", "2024-02-30T12:00:00.123456+01:30", "10:05:08-02:00", "127.0.0.1", "255.256.0.1", "::ffff:192.0.2.128",
    "2001:db8::8a2e:370:7334", "a.example-host.org", "xn--bcher-kva.example", "someone+tag@example.org", "https://user@example.org:8080/a/b?c=d#e",
    "/relative/{?template*}", "urn:isbn:0451450523", "123e4567-e89b-12d3-a456-426614174000", "žluťoučký kůň 🐎 漢字かな", "plain ASCII of no format at all",
    "https://例え.テスト/パス"
  ].freeze

  # @return [String] the path of a file of texts, one a line
  def text_corpus(folder, seed)
    random = Random.new(seed)
    mixed = Array.new(200) { Array.new(random.rand(1..6)) { TEXTS.sample(random:) }.join(["", " ", "/", "."].sample(random:)) }
    write(folder, "text", [*TEXTS, *mixed].join("\n"))
  end

  # @return [Array<String>]
  def json_texts(seed)
    values = JSONValues.new(seed:)
    Webhooks.texts.select { |text| text.bytesize < 6_000 } + Array.new(300) { JSON.generate(values.any) }
  end

  # @return [String] the path of a file of payloads of MessagePack and Avro, each after its length
  def binary_corpus(folder, seed)
    write(folder, "binary", binary_payloads(Random.new(seed)).map { |bytes| [bytes.bytesize].pack("N") + bytes }.join)
  end

  private

  def write(folder, name, content)
    File.join(folder, "#{name}.corpus").tap { |path| File.binwrite(path, content) }
  end

  def binary_payloads(random)
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
