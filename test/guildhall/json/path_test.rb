# frozen_string_literal: true

require "guildhall/json"
require "guildhall/msgpack"

class JSONPathTest < GuildhallTest
  TEXT = '{"items":[{"sku":"a","n":1},{"sku":"b","tags":["x",{"sku":"c"}]}],"un it":[0,1,2,3,4,5],"été":7,"q\'":8}'
  FOUND = {
    "$.items[*].sku" => %w[a b], "$..sku" => %w[a b c], "$['un it'][1:4]" => [1, 2, 3], "$['un it'][::-2]" => [5, 3, 1],
    "$['un it'][-2:]" => [4, 5], "$['un it'][:100]" => [0, 1, 2, 3, 4, 5], "$['un it'][4:1:-1]" => [4, 3, 2], "$['un it'][::0]" => [],
    "$.items[0,1].n" => [1], "$['un it'][0,-1]" => [0, 5], "$[\"un it\"][2]" => [2], "$.été" => [7], "$['q\\'']" => [8],
    "$.none" => [], "$.items.sku" => [], "$['un it'][9]" => [], "$.items[0]['sku','n']" => ["a", 1], "$..tags[*].sku" => ["c"], "$.items[0].*" => ["a", 1]
  }.freeze

  SHOP = '{"limit":10,"books":[{"t":"one","price":8.95,"isbn":"1"},{"t":"two","price":12,"tags":["x","y"]},' \
         '{"t":"three","price":10,"isbn":null},{"t":"four"}],"o":{"a":{"v":1},"b":{"v":"1"},"c":{"v":true}}}'
  FILTERED = {
    "$.books[?@.price < 10].t" => %w[one], "$.books[?@.price<=10].t" => %w[one three], "$.books[?10 < @.price].t" => %w[two],
    "$.books[?@.price >= 10.0].t" => %w[two three], "$.books[?@.price == $.limit].t" => %w[three], "$.books[?@.isbn].t" => %w[one three],
    "$.books[?!@.isbn].t" => %w[two four], "$.books[?@.isbn == null].t" => %w[three], "$.books[?@.t == 'one' || @.t == \"four\"].t" => %w[one four],
    "$.books[?@.price > 8 && @.price < 12 && @.isbn != null].t" => %w[one], "$.books[?!(@.price || @.isbn)].t" => %w[four],
    "$.books[?(@.price > 11 || @.price < 9) && @.tags].t" => %w[two], "$..[?@.price > 9].t" => %w[two three],
    "$.books[?@.tags[1] == 'y', 0].t" => %w[two one], "$.books[?@.tags == $.books[1].tags].t" => %w[two], "$.books[?@.none == @.other].t" => %w[one two three four],
    "$.books[?@.none != 1].t" => %w[one two three four], "$.books[?@.t < 1].t" => [], "$.books[?@.t > 'one'].t" => %w[two three],
    "$.o[?@.v == 1].v" => [1], "$.o[?@.v == true].v" => [true], "$.o[?@.v <= '1'].v" => ["1"], "$.limit[?@]" => [],
    "$.books[?length(@.t) == 3].t" => %w[one two], "$.books[?length(@.price) == 1].t" => [], "$.books[?count(@.*) > 2].t" => %w[one two three],
    "$.books[?value(@..tags[0]) == 'x'].t" => %w[two], "$.books[?count(@.tags[?@ == 'x']) == 1].t" => %w[two],
    "$.books[?match(@.t, 't.*')].t" => %w[two three], "$.books[?match(@.t, 'n.')].t" => [], "$.books[?search(@.t, 'n.')].t" => %w[one],
    "$.books[?!search(@.t, \"e\") && @.t].t" => %w[two four], "$.books[?search(@.price, '1')].t" => [], "$.books[?match(@.t, @.t)].t" => %w[one two three four],
    "$.books[?match(@.t, '(?:one)')].t" => [], "$.books[?search(@.t, $.o.b.v)].t" => [], "$.books[?match(@.t, 1)].t" => [],
    "$.books[? @.price == 1.2e1 ].t" => %w[two], "$.books[?@['t']=='t\\u0077o'].t" => %w[two]
  }.freeze

  def test_expressions_that_would_take_for_ever
    document = Guildhall::JSON.document(JSON.generate([{"x" => "#{"a" * 40}!", "p" => "#{"(" * 10_000}a#{")" * 10_000}"}]))
    assert_raises(Regexp::TimeoutError) { document.path("$[?match(@.x, '((a{1,30}){1,30}){1,30}')]") }
    assert_empty document.path("$[?match(@.x, @.p)]")
  end

  def test_paths
    each_kind(TEXT) { |root| FOUND.each { |path, values| assert_equal values, Guildhall::JSON::Path.new(path).of(root), path } }
    document = Guildhall::JSON.document(TEXT)
    assert document.path("$").first.equal?(document)
    assert Ractor.shareable?(document.path("$..*"))
  end

  # What is found in a Document is not decoded, and what is around it neither.
  def test_what_is_nested_comes_as_documents
    [Guildhall::JSON.document(TEXT), Guildhall::MessagePack.document(Guildhall::MessagePack.encode(JSON.parse(TEXT)))].each do |document|
      found = ["$.items[*]", "$..items[0]", "$.*", "$..*", "$.items[?@.n]", "$.items[0:2]", "$..[?@.sku]"].flat_map { |path| [*Guildhall::JSON::Path.new(path).of(document)] }
      assert_empty found.grep(Hash) + found.grep(Array)
      assert_includes found, {"sku" => "c"}
    end
  end

  # What is the same for every node, in both directions, whatever it is.
  def test_comparisons_with_the_root
    text = '{"one":{"a":[1,{"b":2}]},"same":{"a":[1,{"b":2}]},"other":{"a":[1,{"b":3}]},"list":[1,{"b":2}],"p":"o.*","n":null}'
    each_kind(text) do |root|
      assert_equal 2, Guildhall::JSON::Path.new("$[?@ == $.one]").of(root).size
      assert_equal 2, Guildhall::JSON::Path.new("$[?$.one.a == @.a]").of(root).size
      assert_equal 4, Guildhall::JSON::Path.new("$[?@ != $.one]").of(root).size
      assert_equal 6, Guildhall::JSON::Path.new("$[?count($..b) == 4]").of(root).size
      assert_equal 1, Guildhall::JSON::Path.new("$[?length(@) == length($.list)]").of(root).size
      assert_equal ["o.*"], Guildhall::JSON::Path.new("$[?match(@, $.p)]").of(root)
      assert_equal [1], Guildhall::JSON::Path.new("$.list[?@ == $.list[0]]").of(root)
      assert_equal 1, Guildhall::JSON::Path.new("$[?@ == $.n]").of(root).size
    end
  end

  # An expression that a payload brings.
  def test_expressions_that_are_too_long
    document = Guildhall::JSON.document(JSON.generate([{"x" => "a" * 10_001, "p" => "a" * 10_001}, {"x" => "a" * 10_000, "p" => "a" * 10_000}]))
    assert_equal 1, document.path("$[?match(@.x, @.p)]").size
  end

  def test_filters
    each_kind(SHOP) { |root| FILTERED.each { |path, values| assert_equal values, Guildhall::JSON::Path.new(path).of(root), path } }
  end

  def test_shareable
    path = Guildhall::JSON::Path.new("$.books[?@.price < 10 && length(@.t) != $.none].t")
    assert Ractor.shareable?(path)
    assert_equal %w[one], ractor_value(Ractor.new(path, Guildhall::JSON.document(SHOP)) { |filter, document| filter.of(document) })
  end

  def test_what_is_not_understood
    ["items", "$items", "$.", "$.items[", "$['a'", "$[a]", "$..[ ", "$[01]", "$[?]", "$[?@.a ==]", "$[?@.* == 1]", "$[?@..a < 1]", "$[?1]", "$[?'a']",
     "$[?(@.a]", "$[?@.a = 1]", "$[?@.a == 01]", "$[?@.a && ]", "$[?length(@.*) == 1]", "$[?count(1) == 1]", "$[?match(@.a)]", "$[?match(@.a, 'b') == true]", "$[?match(@.*, 'b')]", "$[?search(@.a, 'b', 'c')]", "$[?!1 == 1]",
     "$[9007199254740992]", "$[::-9007199254740992]", "$['\\\"']", "$[?@.a == 'x\\q']", "$[?length(@.a)]", "$[?nil == @.a]"].each do |path|
      error = assert_raises(Guildhall::ArgumentError, path) { Guildhall::JSON::Path.new(path) }
      assert_includes error.message, "position"
    end
  end

  def test_white_space_is_that_of_json
    assert_equal [1], Guildhall::JSON::Path.new("$ \t\r\n[ 'a' ]").of({"a" => 1})
    ["$\f.a", "$[\v'a']", "$[?@\f.a]", "$[?@.a\v==1]"].each { |path| assert_raises(Guildhall::ArgumentError, path.dump) { Guildhall::JSON::Path.new(path) } }
  end

  def test_what_is_no_text
    [nil, :a, "$.\xff"].each { |source| assert_raises(Guildhall::ArgumentError) { Guildhall::JSON::Path.new(source) } }
  end

  # An expression may come from the value: one that is no text matches nothing.
  def test_expressions_in_other_encodings
    values = ["a.", "é".encode("UTF-16LE"), "é".b, "a\xFF", "\xFF".b, "日".encode("Shift_JIS")].map { |pattern| {"x" => pattern} }
    assert_equal values[1, 2], Guildhall::JSON::Path.new("$[?match('é', @.x)]").of(values)
    document = Guildhall::JSON.new(allow_invalid_utf8: true).document("[{\"x\":\"a\xFF\"}]".b)
    %w[match search].each { |function| assert_empty Guildhall::JSON::Path.new("$[?#{function}('a', @.x)]").of(document) }
  end

  def test_a_path_in_another_encoding
    [*%w[ISO-8859-1 UTF-16LE].map { |encoding| "$.é".encode(encoding) }, "$.é".b].each do |source|
      path = Guildhall::JSON::Path.new(source)
      assert_equal [[1], "$.é", Encoding::UTF_8], [path.of({"é" => 1}), path.source, path.source.encoding]
    end
    ["$.\xFF", "$.\xFF".b, "\x00\xD8".dup.force_encoding("UTF-16LE")].each do |source|
      error = assert_raises(Guildhall::ArgumentError) { Guildhall::JSON::Path.new(source) }
      assert_equal "a JSONPath is a valid String, not #{source.inspect}", error.message
    end
    assert_match(/JSONPath \$é: expected \. or \[ at position 1/, assert_raises(Guildhall::ArgumentError) { Guildhall::JSON::Path.new("$é".b) }.message)
  end

  private

  def each_kind(text)
    yield Guildhall::JSON.document(text)
    yield Guildhall::JSON.decode(text)
    yield Guildhall::JSON.new(symbolize_names: true).document(text)
  end
end
