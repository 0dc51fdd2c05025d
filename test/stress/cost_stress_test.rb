# frozen_string_literal: true

require "test_helper"
require "support/cost_program"

# The rows of test/guildhall/cost_test.rb with payloads sixteen times as large, and documents composed at random of all kinds. SEED=
# repeats a run, ROUNDS= makes it longer.
class CostStressTest < GuildhallTest
  include CostProgram

  SEED = Integer(ENV.fetch("SEED", Random.new_seed % 1_000_000))
  ROUNDS = Integer(ENV.fetch("ROUNDS", 60))
  LARGER = 16

  def test_json = assert_rows({"json_rows" => "JSONRows"}, factor: LARGER, timeout: 3_600)
  def test_message_pack = assert_rows({"msgpack_rows" => "MessagePackRows"}, factor: LARGER, timeout: 3_600)
  def test_avro = assert_rows({"avro_rows" => "AvroRows"}, factor: LARGER, timeout: 3_600)
  def test_text = assert_rows({"text_rows" => "TextRows"}, factor: LARGER, timeout: 3_600)
  def test_schema = assert_rows({"schema_rows" => "SchemaRows"}, factor: LARGER, timeout: 3_600)

  def test_random_compositions
    puts "cost: SEED=#{SEED} ROUNDS=#{ROUNDS}"
    assert_rows({"random_rows" => "RandomRows"}, factor: 4, seed: SEED, rounds: ROUNDS, timeout: 3_600)
  end
end
