# frozen_string_literal: true

require "test_helper"
require "support/fuzz_program"
require "rbconfig"
require "tmpdir"

# The readers in C on 64-bit ARM, with its vectors (NEON) and without: on mutated payloads, under emulation. What they find
# is what this machine's find, tape for tape. SEED= repeats a run, ROUNDS= makes it longer.
class ARMFuzzTest < GuildhallTest
  include FuzzProgram

  SEED = Integer(ENV.fetch("SEED", Random.new_seed % 1_000_000))
  ROUNDS = Integer(ENV.fetch("ROUNDS", 20_000))
  COMPILER = "aarch64-linux-gnu-gcc"
  EMULATOR = "qemu-aarch64"
  # Undefined behaviour traps: there is no library to report it.
  FLAGS = %w[-O3 -static -fsanitize=undefined -fsanitize-undefined-trap-on-error].freeze

  def setup
    missing = [COMPILER, EMULATOR].reject { |program| found?(program) }
    skip("no #{missing.join(" and no ")}: on Debian, apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user") if missing.any?
  end

  def test_json
    puts "ARM fuzz: SEED=#{SEED} ROUNDS=#{ROUNDS}"
    compare("json_fuzz", :json_corpus, %w[none best])
  end

  def test_message_pack_and_avro
    puts "ARM fuzz: SEED=#{SEED} ROUNDS=#{ROUNDS}"
    compare("binary_fuzz", :binary_corpus, %w[none best])
  end

  private

  def compare(name, corpus, levels)
    Dir.mktmpdir do |folder|
      payloads = send(corpus, folder, SEED)
      expected = run_fuzz(fuzz_program(folder, name, flags: %w[-O2]), SEED, ROUNDS, payloads)
      program = fuzz_program(folder, name, compiler: COMPILER, flags: FLAGS)
      assert_match(/\h{16}/, expected)
      levels.each do |level|
        assert_equal expected, run_fuzz(program, SEED, ROUNDS, payloads, emulator: [EMULATOR], env: {"GUILDHALL_SIMD" => level}), "SEED=#{SEED} #{level}"
      end
    end
  end

  def found?(program) = ENV.fetch("PATH").split(":").any? { |folder| File.executable?(File.join(folder, program)) }
end
