# frozen_string_literal: true

require "guildhall/json"
require "json"
require "pp"
require_relative "../../support/json_values"

class JSONDocumentTest < GuildhallTest
  TEXT = '{"id":1,"user":{"name":"Ada","email":"a@b.c","tags":["x","y",{"z":null}]},"esc\n":"t\u00e9","price":1.5,"list":[]}'
  HASH = JSON.parse(TEXT)

  def document(text = TEXT, **) = Guildhall::JSON.new(**).document(text)

  def test_reads_like_a_hash
    HASH.each { |key, value| assert document[key] == value, key }
    assert_nil document["none"]
    assert_nil document[:id]
    assert_nil document[1]
    assert document.key?("id")
    assert document.include?("esc\n")
    refute document.key?("email")
    assert_equal HASH.keys, document.keys
    assert_equal 5, document.size
    assert_equal HASH.values.first, document.values.first
    assert_equal [1, 1.5, nil], document.values_at("id", "price", "none")
    assert_equal [1, "Ada"], [document.dig("id"), document.dig("user", "name")]
    refute_predicate document, :empty?
  end

  def test_fetch
    assert_equal 1, document.fetch("id")
    assert_equal 2, document.fetch("none", 2)
    assert_equal "none!", document.fetch("none") { |key| "#{key}!" }
    error = assert_raises(KeyError) { document.fetch("prize") }
    assert_equal ["prize", document], [error.key, error.receiver]
    assert_includes error.detailed_message, "price" if defined?(DidYouMean)
    assert_equal [1], document.fetch_values("id")
  end

  def test_dig
    assert_nil document.dig("user", "none", "deeper")
    assert_nil document.dig("none", "deeper")
    assert_equal "y", document.dig("user", "tags", 1)
    assert_equal HASH["user"]["tags"][-1], document.dig("user", "tags", -1).to_h
    assert_nil document.dig("user", "tags", 3)
    assert_raises(TypeError) { document.dig("id", "deeper") }
    assert_raises(TypeError) { document.dig("user", "tags", "x") }
    assert_raises(ArgumentError) { document.dig }
  end

  def test_enumerates_like_a_hash
    assert_equal HASH.to_a.map { |key, value| "#{key}#{value.class == Hash}" },
      document.each.map { |key, value| "#{key}#{value.is_a?(Guildhall::JSON::ObjectDocument)}" }
    assert_equal HASH.map { |pair| pair.first }, document.map { |pair| pair.first }
    assert_same document.itself.then { |one| one.each { |_, _| nil } }.class, Guildhall::JSON::ObjectDocument
    assert_equal 5, document.each.size
    assert_equal %w[id user], document.each_key.first(2)
    assert_equal HASH.count, document.count
    assert_equal 1, document.count { |key, _| key == "id" }
    assert_equal({"id" => 1}, document.select { |_, value| value == 1 })
    assert_equal HASH.keys - ["id"], document.reject { |_, value| value == 1 }.keys
    assert_equal({"id" => 1, "price" => 1.5}, document.slice("id", "none", "price"))
    assert_equal %w[id], document.except("user", "esc\n", "price", "list").keys
    assert_equal %w[user], document.filter_map { |key, value| key if value.is_a?(Guildhall::JSON::ObjectDocument) }
    assert_equal({"id" => "1"}, document.slice("id").transform_values(&:to_s))
    assert_equal [:id, "1"], document.to_h { |key, value| [key.to_sym, value.to_s] }.first
  end

  def test_reads_like_an_array
    tags = document["user"]["tags"]
    assert_equal ["x", "y", {"z" => nil}], tags.to_a
    assert_equal %w[x y], [tags[0], tags[-2]]
    assert_equal %w[x y], tags[0, 2]
    assert_equal %w[x y], tags[..1]
    assert_nil tags[3]
    assert_nil tags[-4]
    assert_equal "x", tags.first
    assert tags.last == {"z" => nil}
    assert_equal "y", tags.fetch(1)
    assert_equal "y", tags.fetch(-2)
    assert_equal 7, tags.fetch(9, 7)
    assert_raises(IndexError) { tags.fetch(9) }
    assert_equal [0, 1, 2], tags.each_index.to_a
    assert_equal 3, tags.each.size
    assert_equal %w[x y], tags.grep(String)
    assert tags.include?("x")
  end

  def test_makes_hashes_as_a_hash_does
    assert_equal HASH.merge("id" => 2, "new" => 3), document.merge({"id" => 2}, {"new" => 3}).transform_values { |value| value.respond_to?(:decode) ? value.decode : value }
    assert_equal [7, "x"], document('{"a":3}').merge(document('{"a":4,"b":"x"}')) { |_, one, other| one + other }.values
    assert_equal({"a" => 1}, document('{"a":1,"b":null}').compact)
    assert_equal({"A" => 1, "B" => 2}, document('{"a":1,"b":2}').transform_keys(&:upcase))
    assert_equal({"x" => 1, "b" => 2}, document('{"a":1,"b":2}').transform_keys({"a" => "x"}))
    assert_equal({1 => "a"}, document('{"a":1}').invert)
    assert document.value?(1.5)
    assert document.has_value?(HASH["user"]) # rubocop:disable Style/PreferredHashMethods -- Hash has both
    refute document.value?(2)
    assert_equal ["price", nil], [document.key(1.5), document.key(9)]
    assert_equal [["id", 1], nil], [document.assoc("id"), document.assoc("none")]
    assert_equal [1, 1.5, nil], %w[id price none].map(&document)
  end

  def test_makes_arrays_as_an_array_does
    list = document("[3,[1,null],3,{}]")
    assert_equal [0, 2, nil, 1], [list.index(3), list.rindex(3), list.index(4), list.index { |value| value == [1, nil] }]
    assert_equal "a,b,c", document('["a",["b","c"]]').join(",")
    assert_equal [3, 1, nil, 3, {}], list.flatten
    assert_equal "[{},3,[1,null],3]", Guildhall::JSON.encode(list.reverse)
    assert_equal [1, 2, 3, 1], document("[1,2]") + document("[3,1]")
    assert_equal [[1], [2], [1, 2, 3]], [document("[1,2]") - [2], document("[1,2]") & [2, 3], document("[1,2]") | [3]]
    assert document("[1,2]").intersect?([2, 5])
    refute document("[1,2]").intersect?(document("[3]"))
    assert_includes [1, 2], document("[1,2]").sample
    assert_equal [[3, 3], [1, :none]], [list.fetch_values(0, 2), document("[1]").fetch_values(0, 9) { :none }]
  end

  def test_has_what_hashes_and_arrays_have
    {Hash => document, Array => document["user"]["tags"]}.each do |plain, made|
      assert_empty(plain.public_instance_methods.reject { |name| made.respond_to?(name) })
      assert_kind_of plain, made
      refute_instance_of plain, made
    end
    refute_respond_to document, :to_ary
    refute_respond_to document["user"]["tags"], :to_hash
  end

  def test_becomes_a_hash_or_an_array
    assert_instance_of Hash, document.to_h
    assert_equal HASH, document.to_h
    assert_predicate document.to_h, :frozen?
    assert_instance_of Hash, document.to_hash["user"]
    assert_instance_of Hash, document["user"]["tags"].to_ary.last
  end

  def test_pattern_matching
    case document
    in {user: {name: String => name, tags: [first, *, {z: nil}]}, price: Float => price} then nil
    end
    assert_equal ["Ada", "x", 1.5], [name, first, price]
    refute((document in {none: _}))
    case document
    in {id: 1, **rest} then assert_equal HASH.size - 1, rest.size
    end
  end

  def test_symbol_keys
    symbols = document(symbolize_names: true)
    assert_equal "Ada", symbols[:user][:name]
    assert_equal "Ada", symbols.dig(:user, :name)
    assert_nil symbols["user"]
    assert_equal JSON.parse(TEXT, symbolize_names: true), symbols.to_h
    assert_equal :id, symbols.keys.first
    case symbols
    in {user: {name:}} then assert_equal "Ada", name
    end
  end

  def test_equality
    assert document == HASH
    assert document == document(TEXT.dup)
    assert document(%({"b":1,"a":[2]})) == document(%({"a":[2],"b":1}))
    refute document == HASH.merge("id" => 2)
    refute document == HASH.except("id")
    refute document == HASH.except("id").merge("other" => 1)
    refute document.nil?
    assert document["user"]["tags"] == ["x", "y", {"z" => nil}]
    refute document["user"]["tags"] == %w[x y]
    assert document == {**HASH, "user" => document["user"]}
    assert document.eql?(document(TEXT.dup))
    assert_equal document.hash, document(TEXT.dup).hash
    assert_equal 1, {document => 1, document(TEXT.dup) => 1}.size
    assert document.eql?(HASH)
    refute document.eql?(HASH.merge("id" => 1.0))
    assert_equal HASH.hash, document.hash
  end

  def test_shows_its_shape
    text = "té".inspect # with \u00E9 where no LANG is set
    shape = "{\"id\" => 1, \"user\" => {… 3}, \"esc\\n\" => #{text}, \"price\" => 1.5, \"list\" => []}"
    assert_equal "#<Guildhall::JSON::ObjectDocument #{shape}>", document.inspect
    assert_equal "#<Guildhall::JSON::ArrayDocument [0, 1, 2, 3, 4, 5, 6, 7, … 992 more]>", document(JSON.generate([*0...1000])).inspect
    assert_operator document(JSON.generate(["x" * 10_000])).inspect.size, :<, 200
    assert_equal "#<Guildhall::JSON::ObjectDocument {a: 1}>", document('{"a":1}', symbolize_names: true).inspect
    assert_includes document.pretty_inspect, "ObjectDocument"
  end

  def test_gives_its_own_source
    text = %( {"a" : [ {"b":"]}"}, 2, [[3], [ ]], "x\\"}" ], "c":{}, "n":[1,2,[4,{"d" : 5 }]] } )
    whole = document(text)
    assert_equal text.strip, whole.to_json
    assert_equal %([ {"b":"]}"}, 2, [[3], [ ]], "x\\"}" ]), whole["a"].to_json
    assert_equal %({"b":"]}"}), whole["a"][0].to_json
    assert_equal "[[3], [ ]]", whole["a"][2].source
    assert_equal "[ ]", whole["a"][2][1].source
    assert_equal "{}", whole["c"].source
    assert_equal %({"d" : 5 }), whole.dig("n", 2, 1).source
    assert_equal JSON.generate([whole]), "[#{text.strip}]"
    assert_equal whole.decode, whole.as_json
  end

  def test_sources_of_all_parts_of_generated_values
    values = JSONValues.new(seed: 23)
    200.times do
      made = document(JSON.generate([values.any]))
      parts(made).each { |part| assert JSON.parse(part.source).eql?(part.decode), part.source }
    end
  end

  # Small integers, literals and brackets have no position of their own.
  FAR = JSON.generate([["x"], *Array.new(300) { |i| [[i, i], {}, [[nil, true], [-i]], {"k" => [i]}, [[]]][i % 5] }]).gsub(",[", " ,\n [").freeze

  def test_sources_far_behind_the_last_string
    whole = document(FAR)
    found = whole.each_with_index.to_a.grep_v(Integer)
    3.times do |turn|
      found.shuffle(random: Random.new(turn)).each do |part, index|
        assert_equal part.decode, JSON.parse(part.source), index
        assert_equal JSON.generate(part.decode), JSON.generate(JSON.parse(Guildhall::JSON.encode(part)))
        assert part.detach == part
      end
    end
    assert_equal FAR, whole.source
  end

  # Who comes first makes the index of all positions, and the others see it whole.
  def test_sources_for_several_ractors_at_once
    20.times do
      whole = document(FAR)
      expected = JSON.parse(FAR)
      ractors = Array.new(4) { |turn| Ractor.new(whole, turn) { |shared, seed| shared.elements.shuffle(random: Random.new(seed)).map(&:source) } }
      ractors.each_with_index { |ractor, turn| assert_equal expected.shuffle(random: Random.new(turn)), ractor_value(ractor).map { |source| JSON.parse(source) } }
    end
  end

  def test_detached_parts_have_bytes_of_their_own
    whole = document(JSON.generate({"small" => {"k" => [1, {"l" => 2}]}, "large" => "x" * 100_000}))
    part = whole["small"].detach
    assert part == whole["small"]
    assert Ractor.shareable?(part)
    assert_equal 2, part["k"][1].detach["l"]
    assert_operator ObjectSpace.respond_to?(:memsize_of) ? ObjectSpace.memsize_of(part) : 0, :<, 5_000
  end

  # Not what encoding the decoded values would give.
  def test_detached_parts_without_duplicate_keys_have_the_same_values
    text = %({"x":{"p":1.50,"big":#{10**30},"i":-7,"deep":#{"[" * 90}1e400,"\xFF\\n"#{"]" * 90},"e":[],"o":{}},"q":1,"x2":[[{"a":1,"b":[[[]]],"\\u0061":{"n":null}},{"t":true,"f":false}]],"q":2})
    [{}, {decimal_class: Rational}, {symbolize_names: true}].each do |options|
      options = {allow_invalid_utf8: true, **options} unless options[:symbolize_names]
      text = text.scrub("?") if options[:symbolize_names]
      whole = Guildhall::JSON.new(allow_duplicate_key: true, **options).document(text)
      parts(whole).each do |part|
        detached = part.detach
        assert detached.decode.eql?(part.decode), part.inspect
        assert_operator detached, :==, part
      end
    end
  end

  def test_frozen_and_shareable
    [document, document["user"], document["user"]["tags"]].each do |made|
      assert_predicate made, :frozen?
      assert Ractor.shareable?(made)
      assert_same made, made.dup
      assert_same made, made.clone
      assert_raises(FrozenError) { made.instance_variable_set(:@x, 1) }
    end
    [document.keys, document.values, document["user"]["tags"].elements, document.select { true }].each { |made| assert Ractor.shareable?(made) }
  end

  def test_scalar_roots_are_plain_values
    {"1" => 1, "\"x\"" => "x", "null" => nil, "true" => true, "1.5" => 1.5}.each do |text, value|
      assert value == document(text) && document(text).class == value.class
    end
  end

  # Far more keys than are walked, asked for often enough that an index is made: by several Ractors at once.
  def test_large_containers
    out = assert_ruby(<<~'RUBY')
      require "guildhall/json"
      Warning[:experimental] = false
      pairs = (0...3000).to_h { |n| ["key\t#{n}", n.even? ? {"n" => n} : n] }
      document = Guildhall::JSON.document(Guildhall::JSON.encode({"object" => pairs, "array" => pairs.values, "numbers" => [*0...500]}))
      check = lambda do |document|
        3.times.all? do
          3000.times.all? do |n|
            expected = n.even? ? {"n" => n} : n
            document["object"]["key\t#{n}"] == expected && document["array"][n] == expected && document.dig("array", n - 3000) == expected
          end && document["object"]["key"].nil? && document["array"][3000].nil? && document["numbers"][-1] == 499
        end
      end
      ractors = Array.new(3) do
        Ractor.new(document) do |shared|
          3000.times.all? { |n| shared["object"]["key\t#{n}"] == (n.even? ? {"n" => n} : n) && shared["array"][n] == shared["object"]["key\t#{n}"] }
        end
      end
      p ractors.map { |ractor| ractor.respond_to?(:value) ? ractor.value : ractor.take }.all? && check.call(document)
    RUBY
    assert_equal "true\n", out
  end

  private

  # Not what a gem has added.
  def rubys_own?(method) = method.source_location.nil? || method.source_location.first.start_with?("<internal:")

  def parts(made)
    return [] unless made.is_a?(Guildhall::JSON::Document)

    [made, *(made.is_a?(Guildhall::JSON::ArrayDocument) ? made.elements : made.values).flat_map { |part| parts(part) }]
  end
end
