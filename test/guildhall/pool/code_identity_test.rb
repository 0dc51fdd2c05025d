# frozen_string_literal: true

require "test_helper"
require "guildhall/pool"
require "guildhall/json"
require "guildhall/pipeline"

# What makes two blocks the same code.
class PoolCodeIdentityTest < GuildhallTest
  def setup
    @blocks = Hash.new { |known, instructions| known[instructions] = Guildhall::Inspection::Block.new(instructions) }.compare_by_identity
  end

  def key(task) = Guildhall::Pool::CodeIdentity.of(task, @blocks)

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

  BLOCKS = [->(payload) { payload.upcase }, ->(payload) { payload.downcase }].freeze # in the class body: Ruby 3.4 keeps their self

  def test_shareable_blocks_and_pipelines_that_are_made_at_the_call
    first, again = Array.new(2) { Ractor.make_shareable(BLOCKS[0].dup) }
    assert key(first).eql?(key(again))
    refute key(first).eql?(key(Ractor.make_shareable(BLOCKS[1].dup)))
    one, same, other = [0, 0, 1].map { |index| Guildhall::JSON >> BLOCKS[index] }
    assert key(one).eql?(key(same))
    refute key(one).eql?(key(other))
  end

  Wrapper = Struct.new(:inner) do
    def call(payload) = inner.call(payload)
  end

  def test_what_lies_deep_makes_a_difference
    one, other = BLOCKS.map { |block| 10.times.inject(block) { |inner, _| Wrapper.new(inner) } }
    refute key(one).eql?(key(other))
    assert key(one).eql?(key(one))
  end

  def test_blocks_of_several_places_are_several_codes
    refute key(->(payload) { payload }).eql?(key(->(payload) { payload }))
  end
end
