# frozen_string_literal: true

require "guildhall/json"

class JSONPathTest < GuildhallTest
  TEXT = '{"items":[{"sku":"a","n":1},{"sku":"b","tags":["x",{"sku":"c"}]}],"un it":[0,1,2,3,4,5],"été":7,"q\'":8}'
  FOUND = {
    "$.items[*].sku" => %w[a b], "$..sku" => %w[a b c], "$['un it'][1:4]" => [1, 2, 3], "$['un it'][::-2]" => [5, 3, 1],
    "$['un it'][-2:]" => [4, 5], "$['un it'][:100]" => [0, 1, 2, 3, 4, 5], "$['un it'][4:1:-1]" => [4, 3, 2], "$['un it'][::0]" => [],
    "$.items[0,1].n" => [1], "$['un it'][0,-1]" => [0, 5], "$[\"un it\"][2]" => [2], "$.été" => [7], "$['q\\'']" => [8],
    "$.none" => [], "$.items.sku" => [], "$['un it'][9]" => [], "$.items[0]['sku','n']" => ["a", 1], "$..tags[*].sku" => ["c"], "$.items[0].*" => ["a", 1]
  }.freeze

  def test_paths
    document = Guildhall::JSON.document(TEXT)
    hash = document.to_h
    symbols = Guildhall::JSON.new(symbolize_names: true).document(TEXT)
    FOUND.each do |path, values|
      assert_equal values, document.path(path), path
      assert_equal values, Guildhall::JSON::Path.new(path).of(hash), path
      assert_equal values, symbols.path(path), path
    end
    assert document.path("$").first.equal?(document)
    assert Ractor.shareable?(document.path("$..*"))
  end

  def test_what_is_not_understood
    ["items", "$items", "$.", "$.items[", "$.items[?@.n]", "$['a'", "$[a]", "$..[ "].each do |path|
      error = assert_raises(Guildhall::ArgumentError, path) { Guildhall::JSON::Path.new(path) }
      assert_includes error.message, "position"
    end
  end
end
