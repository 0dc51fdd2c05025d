# frozen_string_literal: true

require "test_helper"
require "guildhall/shareable"

class InspectionConstantsTest < GuildhallTest
  Constants = Guildhall::Inspection::Constants

  module Outer
    NAME = :outer
    module Inner
      NAME = :inner
    end

    class Base
      INHERITED = :inherited
    end

    class Child < Base; end
    autoload :Late, "no such file"
  end

  def value(*names, nesting: [Outer::Inner, Outer], **) = Constants.new(nesting, **).value(names)

  def test_lexical_scopes_first_from_the_inside_out
    assert_equal :inner, value(:NAME)
    assert_equal :outer, value(:NAME, nesting: [Outer])
    assert_same Outer::Inner, value(:Inner)
  end

  def test_then_what_the_innermost_inherits_then_the_top_level
    assert_equal :inherited, value(:INHERITED, nesting: [Outer::Child, Outer])
    assert_same String, value(:String)
  end

  def test_paths
    assert_equal :inner, value(:Inner, :NAME)
    assert_same String, value(:"", :String)
  end

  def test_nothing_is_loaded_unless_asked_for
    assert_same Constants::UNKNOWN, value(:Late)
    assert_raises(LoadError) { value(:Late, load: true) }
  end

  def test_what_is_not_there
    assert_same Constants::UNKNOWN, value(:Nowhere)
    assert_same Constants::UNKNOWN, value(:NAME, :Deeper)
    assert_raises(NameError) { value(:Nowhere, load: true) }
  end

  def test_the_modules_around_a_method
    assert_equal [Outer::Child, Outer, self.class], Constants.nesting_of(Outer::Child)
    assert_equal [Outer, self.class], Constants.nesting_of(Outer.singleton_class)
    assert_empty Constants.nesting_of(Module.new)
  end
end
