# frozen_string_literal: true

require "test_helper"
require "guildhall/avro"

# What the compiler hands to C is checked there: a wrong program is refused, and not run.
class AvroProgramTest < GuildhallTest
  RECORD = Guildhall::Avro::Compiler::TYPES.fetch(:record)

  def test_a_record_whose_defaults_are_missing_or_no_constants
    load([RECORD, 0, 0, 1, 0, 0, 0, 0])
    load([RECORD, 0, 0, 1, 1, 0, 0, 0], [1, 2], %w[name value])
    refused([RECORD, 0, 0, 1, 1, 0, 0, 0])
    refused([RECORD, 0, 0, 1, 2**31, 0, 0, 0])
    refused([RECORD, 0, 0, 1, 1, 0, 0, 0], [1, 9], %w[name value])
  end

  def test_a_record_with_more_fields_than_its_hash
    refused([RECORD, 0, 1, 1, 0, 0, 0, 0], [0, 1], %w[name])
  end

  def test_a_record_without_a_name
    refused([RECORD, 0, 0, 0, 0, 0, 0, 0])
  end

  private

  # The name of the type is the first operand and the first constant.
  def load(node, operands = [], constants = [])
    Guildhall::Avro::Program.allocate.send(:load, [node], [0, *operands], ["R", *constants])
  end

  def refused(...) = assert_raises(IndexError) { load(...) }
end
