# frozen_string_literal: true

require "test_helper"
require "guildhall/pool"

# What tasks return, on its way out of a worker.
class ShareableResultOfTasksTest < GuildhallTest
  Part = Struct.new(:name, :tool)

  def shared(value) = Guildhall::Shareable.const_get(:Result).new(value, nil).shared

  def test_a_copy_that_is_shareable
    value = [+"a", {b: [+"c"]}]
    copy = shared(value)
    assert_equal value, copy
    assert Ractor.shareable?(copy)
    refute_predicate value, :frozen?
  end

  Tags = Data.define(:all)

  def test_sets_are_copied_wherever_they_are
    set = Set[[+"a"], Set[+"b"]].compare_by_identity
    object = Object.new.tap { |one| one.instance_variable_set(:@a, set) }
    [set, [set], {set => set}, Part.new(set, Tags.new(set)), Part.new(object)].each do |value|
      assert Ractor.shareable?(copy = shared(value))
      assert_instance_of value.class, copy
    end
    assert_predicate shared(set), :compare_by_identity?
    refute(set.frozen? || set.any?(&:frozen?))
    error = assert_raises(Guildhall::NotShareableError) { shared(Set[Thread.new { nil }]) }
    assert_match(/\Aresult\.(?:to_a|@hash\.keys)\[#<Thread/, error.path)
  end

  def test_what_never_leaves_is_named_with_its_path
    {[1, {a: $stdout}] => "result[1][:a]", Part.new("x", -> {}) => "result.tool"}.each do |value, path|
      error = assert_raises(Guildhall::NotShareableError) { shared(value) }
      assert_equal path, error.path
      assert_includes error.message, "cannot leave its Ractor"
    end
  end

  def test_what_cannot_be_copied_is_named_with_its_path
    error = assert_raises(Guildhall::NotShareableError) { shared([{a: [Thread.new { nil }]}]) }
    assert_equal "result[0][:a][0]", error.path
  end

  def test_an_object_that_holds_itself_and_a_set
    value = [Set[[+"a"]]]
    value << value << value
    return assert Ractor.shareable?(shared(value)) unless RUBY_VERSION.start_with?("4.0") # the others copy Sets themselves

    assert_equal "result", assert_raises(Guildhall::NotShareableError) { shared(value) }.path
  end

  def test_an_object_that_holds_itself
    value = []
    value << value << $stdout
    assert_equal "result[1]", assert_raises(Guildhall::NotShareableError) { shared(value) }.path
  end
end
