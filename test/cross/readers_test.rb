# frozen_string_literal: true

require "test_helper"
require "support/cross_target"
require "support/fuzz_program"
require "tmpdir"

# The C that needs no Ruby, on 64-bit ARM, with its vectors (NEON) and without, and with another C library, on mutated payloads. What
# it finds is what this machine's finds, tape for tape and digit for digit. SEED= repeats a run, ROUNDS= makes it longer.
class CrossReadersTest < GuildhallTest
  include FuzzProgram
  extend CrossTarget::Tests

  SEED = Integer(ENV.fetch("SEED", Random.new_seed % 1_000_000))
  ROUNDS = Integer(ENV.fetch("ROUNDS", 20_000))
  # Undefined behaviour traps: there is no library to report it.
  FLAGS = %w[-O3 -static -fsanitize=undefined -fsanitize-undefined-trap-on-error].freeze
  LEVELS = %w[none base best].freeze

  PROGRAMS = {"json_fuzz" => :json_corpus, "binary_fuzz" => :binary_corpus, "text_fuzz" => :text_corpus}.freeze

  PROGRAMS.each do |name, corpus|
    test_on_each_target(name) do |target|
      Dir.mktmpdir do |folder|
        payloads = send(corpus, folder, SEED)
        program = fuzz_program(folder, name, compiler: target.compiler, flags: [*FLAGS, *target.flags])
        assert_equal [here(name, payloads, folder)], LEVELS.map { |level| found(program, payloads, level, target.emulator) }.uniq, "SEED=#{SEED} ROUNDS=#{ROUNDS}"
      end
    end
  end

  def test_each_width_of_vectors_finds_the_same_here
    Dir.mktmpdir do |folder|
      PROGRAMS.each do |name, corpus|
        program = fuzz_program(folder, name, flags: %w[-O2])
        payloads = send(corpus, folder, SEED)
        digests = LEVELS.map { |level| found(program, payloads, level) }
        assert_equal 1, digests.uniq.size, "#{name} SEED=#{SEED} ROUNDS=#{ROUNDS}: #{digests}"
      end
    end
  end

  private

  def here(name, payloads, folder)
    found(fuzz_program(folder, name, flags: %w[-O2]), payloads, "best").tap { |digest| assert_match(/\h{16}/, digest) }
  end

  def found(program, payloads, level, emulator = [])
    run_fuzz(program, SEED, ROUNDS, payloads, emulator:, env: {"GUILDHALL_SIMD" => level})
  end
end
