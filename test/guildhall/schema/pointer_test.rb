# frozen_string_literal: true

require "test_helper"
require "guildhall/schema"

class SchemaPointerTest < GuildhallTest
  Pointer = Guildhall::Schema.const_get(:Pointer)

  def test_tokens_and_back
    {"" => [], "/" => [""], "/a/0" => %w[a 0], "/a~1b/~0~01" => ["a/b", "~~1"], "/a//b/" => ["a", "", "b", ""]}.each do |pointer, tokens|
      assert_equal tokens, Pointer.tokens(pointer), pointer
      assert_equal pointer, Pointer.build(tokens)
    end
    assert_equal "/a/1", Pointer.build(["a", 1])
  end

  def test_a_step_into_an_object_or_array
    assert_equal 1, Pointer.step({"0" => 1}, "0") { flunk }
    assert_equal :b, Pointer.step(%i[a b], "1") { flunk }
    assert_nil Pointer.step({"a" => nil}, "a") { flunk }
  end

  def test_a_step_that_leads_nowhere
    [[{}, "a"], [[1], "1"], [[1], "-1"], [[1], "00"], [[1], "x"], [nil, "a"], ["text", "0"]].each do |value, token|
      assert_equal :none, Pointer.step(value, token) { :none }, [value, token].inspect
    end
  end

  def test_tokens_in_other_encodings
    tokens = [*%w[ISO-8859-1 UTF-16LE].map { |encoding| "é/".encode(encoding) }, "é/".b]
    assert_equal "/é~1" * 3, Pointer.build(tokens)
  end
end
