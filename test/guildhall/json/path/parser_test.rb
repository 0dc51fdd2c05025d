# frozen_string_literal: true

require "test_helper"
require "guildhall/json"

# What is read as a path, and what is refused where.
class JSONPathParserTest < GuildhallTest
  DOCUMENT = {"a" => [{"b" => 1, "c d" => "x"}, {"b" => 2}, {"b" => 3}], "ü" => 4, "n" => nil}.freeze

  def find(path, document = DOCUMENT) = Guildhall::JSON::Path.new(path).of(document)

  VALUES = {
    "$" => [DOCUMENT], "$.a[0].b" => [1], "$['a'][-1][\"b\"]" => [3], "$.a[*].b" => [1, 2, 3], "$..b" => [1, 2, 3], "$.ü" => [4],
    "$.a[0,2].b" => [1, 3], "$.a[1:].b" => [2, 3], "$.a[::-1].b" => [3, 2, 1], "$.a[0]['c d']" => ["x"], "$ .a [ 0 ] .b" => [1],
    "$['\\u00fc']" => [4], "$.a[?@.b>1].b" => [2, 3], "$.a[?@.b==1||@.b==3].b" => [1, 3], "$.a[?!(@.b==2)&&@['c d']].b" => [1],
    "$.a[?length(@['c d'])==1].b" => [1], "$.a[?count(@.*)==2].b" => [1], "$.a[?match(@['c d'],'x')].b" => [1], "$.x" => [], "$.n" => [nil],
    "$[?@==null]" => [nil], "$.a[?@.b==$.a[1].b].b" => [2], "$.a[?value(@..b)>=3].b" => [3]
  }.freeze

  VALUES.each do |path, values|
    define_method(:"test_#{path.gsub(/\W/) { |character| "_#{character.ord}" }}") { assert_equal values, find(path) }
  end

  REFUSED = {
    "" => "a path begins with $ at position 0", "a" => "a path begins with $", "$a" => "expected . or [ at position 1",
    "$." => "expected a name at position 2", "$[" => "expected an index, a name in quotes, a slice, a filter or * at position 2",
    "$[0" => "expected , or ] at position 3", "$[01]" => "expected , or ]", "$[9007199254740992]" => "a number is from",
    "$['\\x']" => "invalid escape in", "$[?@.a==]" => "expected @, $, a value or a function", "$[?(@.a]" => "expected )",
    "$[?@.a[*]==1]" => "a path that may lead to several values is not compared", "$[?match(@.a,'b')==true]" => "match and search are tests",
    "$[?avg(@.a)>1]" => "there are the functions length, count, value, match and search, not avg", "$[?count(1)>1]" => "expected a path",
    "$[?1]" => "expected a comparison", "$[?search(@.a)]" => "expected , and a regular expression"
  }.freeze

  def test_what_is_not_understood_is_refused_where_it_stands
    REFUSED.each do |path, message|
      error = assert_raises(Guildhall::ArgumentError, path) { Guildhall::JSON::Path.new(path) }
      assert_includes error.message, "JSONPath #{path}: "
      assert_includes error.message, message
    end
  end

  def test_what_is_nested_too_deep_is_refused_before_the_stack_ends
    ["$[?#{"(" * 10_000}", "$#{"[?@" * 10_000}", "$[?#{"!(" * 10_000}", "$[?#{"length(" * 10_000}"].each do |path|
      error = assert_raises(Guildhall::ArgumentError, path[0, 10]) { Guildhall::JSON::Path.new(path) }
      assert_match(/\AJSONPath .{200}…: more than 100 parentheses, filters and functions inside each other at position \d+\z/, error.message)
    end
  end
end
