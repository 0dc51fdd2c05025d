# frozen_string_literal: true

require "test_helper"
require "guildhall/schema"

class SchemaMessagesTest < GuildhallTest
  Messages = Guildhall::Schema.const_get(:Messages)

  def test_one_sentence_a_keyword
    {["type", %w[string null], nil] => "is not of type string or null", ["minimum", 3, nil] => "is less than 3",
     ["required", nil, "id"] => 'is missing required property "id"', ["format", "email", nil] => "is not a valid email",
     ["enum", ["a", 1], nil] => 'is not one of "a", 1', ["oneOf", nil, 0] => "matches none of the schemas in oneOf",
     ["oneOf", nil, 2] => "matches more than one of the schemas in oneOf"}.each do |arguments, message|
      assert_equal message, Messages.message(*arguments)
    end
  end

  def test_keywords_of_the_users_own
    assert_equal "fails even", Messages.message("even", true, nil)
    assert_equal "is odd", Messages.message("even", true, "is odd")
    assert_equal "is not allowed", Messages.message(Messages::NEVER, false, nil)
  end

  def test_long_values_are_cut
    message = Messages.message("const", "x" * 500, nil)
    assert_operator message.size, :<, 150
    assert message.end_with?("…")
  end

  def test_where_the_keyword_stands
    assert_equal "#/properties/a~1b", Messages.location("#/properties", "a/b", nil)
    assert_equal "#/properties/a", Messages.location("#/properties/a", "false", false)
  end
end
