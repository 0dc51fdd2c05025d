# frozen_string_literal: true

require "test_helper"
require "support/meaning_table"

# What a payload becomes does not depend on where it runs: a table of tasks, run in every mode, in batches of random sizes.
class PoolOneMeaningTest < GuildhallTest
  SEED = Integer(ENV.fetch("MEANING_SEED", Random.rand(100_000)))

  # In a process of its own: the tasks set globals, memos and what else lasts.
  PROGRAM = <<~'RUBY'
    $LOAD_PATH.unshift("lib", "test")
    require "support/meaning_table"
    puts MeaningTable.deviations(ARGV[0], ARGV[1].to_i)
  RUBY

  MeaningTable::MODES.each_key do |mode|
    define_method(:"test_#{mode.gsub(/\W+/, "_")}") { assert_no_deviation(mode) }
  end

  def test_inline_by_the_environment = assert_no_deviation("workers", env: {"GUILDHALL_INLINE" => "1"})

  class Speechless < StandardError
    def message = raise("none")
  end

  class Wordless < StandardError
    def message = nil
  end

  MUTE = [->(_) { raise Speechless }, ->(_) { raise Wordless }].freeze # in the class body: Ruby 3.4 keeps their self

  def test_an_exception_that_cannot_be_asked_for_its_message
    Guildhall::Pool.open(workers: 1) do |pool|
      MUTE.zip(["(its message raised RuntimeError)", ""]) do |task, message|
        failures = [true, false].map { |parallel| pool.results(["x"], task, parallel:).first }
        assert_equal [message] * 2, failures.map(&:message)
        assert(failures.none? { |failure| failure.backtrace.empty? })
      end
    end
  end

  UTF16 = ->(_) { raise "é".encode("UTF-16LE") }

  def test_an_exception_whose_message_is_in_another_encoding
    Guildhall::Pool.open(workers: 1) do |pool|
      failures = [true, false].map { |parallel| pool.results(["x"], UTF16, parallel:).first }
      assert_equal ["#<Guildhall::Failure RuntimeError: é at payload 0>"] * 2, failures.map(&:inspect)
      assert(failures.none? { |failure| failure.backtrace.empty? })
    end
  end

  private

  def assert_no_deviation(mode, **)
    assert_empty assert_ruby(PROGRAM, mode, SEED.to_s, **), "MEANING_SEED=#{SEED}"
  end
end
