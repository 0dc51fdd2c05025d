# frozen_string_literal: true

require "test_helper"
require "guildhall/pool"

# What makes two blocks the same code.
class PoolCodeKeyTest < GuildhallTest
  def setup
    @blocks = Hash.new { |known, instructions| known[instructions] = Guildhall::Inspection::Block.new(instructions) }.compare_by_identity
  end

  def key(task) = Guildhall::Pool::CodeKey.of(task, @blocks)

  def adding(number, _beside = nil) = ->(payload) { payload + number }

  def calling(callable) = ->(payloads) { payloads.each { |payload| callable.call(payload) } }

  def test_data_that_blocks_capture_makes_no_difference
    assert key(adding(1)).eql?(key(adding(2)))
  end

  def test_what_is_around_a_block_and_not_captured_makes_no_difference
    assert key(adding(1, :upcase.to_proc)).eql?(key(adding(1, Integer.method(:sqrt))))
  end

  def test_what_they_capture_and_may_call_does_also_from_a_block_in_the_block
    refute key(calling(adding(1))).eql?(key(calling(:upcase.to_proc)))
    assert key(calling(adding(1))).eql?(key(calling(adding(2))))
  end

  def test_blocks_of_several_places_are_several_codes
    refute key(->(payload) { payload }).eql?(key(->(payload) { payload }))
  end
end
