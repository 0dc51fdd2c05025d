# frozen_string_literal: true

require "test_helper"
require "guildhall/yaml"

class YAMLOutlineTest < GuildhallTest
  def check(text) = Guildhall::YAML.const_get(:Outline).check(text, max_nesting: 3, max_digits: 100, max_aliased: 100)

  def test_as_deep_as_is_allowed
    assert_nil check("[[[1]]]")
    assert_nil check("a: {b: {c: 1}}")
  end

  def test_deeper
    error = assert_raises(Guildhall::DecodeError) { check("- 1\n- [[[2]]]") }
    assert_includes error.message, "nested deeper than max_nesting, 3"
    assert_equal 2, error.line
  end

  def test_a_node_in_itself
    error = assert_raises(Guildhall::DecodeError) { check("a: &x\n  - *x") }
    assert_includes error.message, "*x is an alias of its own parent"
    assert_equal 2, error.line
  end

  def test_a_node_twice_beside_itself
    assert_nil check("a: &x [1]\nb: *x\nc: *x")
  end

  # As Psych has it, the last node of a name counts.
  def test_a_name_that_a_node_inside_takes_over
    codec = Guildhall::YAML.new(aliases: true)
    {"- &x [&x 1, *x]\n" => [[1, 1]], "- &x {a: &x 5, b: *x}\n" => [{"a" => 5, "b" => 5}], "- &x [&x [1], *x]\n" => [[[1], [1]]],
     "- &x [&x [&x 1, *x], *x]\n" => [[[1, 1], 1]]}.each do |text, object|
      assert_equal object, codec.decode(text)
      assert_equal object, Psych.safe_load(text, aliases: true)
    end
    assert_raises(Guildhall::DecodeError) { codec.decode("- &x [&y 1, *x]\n") }
  end

  def test_only_the_first_document_is_looked_at
    assert_nil check("a\n---\n[[[[1]]]]")
  end

  def test_what_is_not_yaml
    assert_raises(Psych::SyntaxError) { check("[") }
  end
end
