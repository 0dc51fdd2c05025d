# frozen_string_literal: true

require "test_helper"
require "guildhall/json"
require "objspace"

# Long objects and arrays: what is found by an index is what a walk finds, whatever the keys are like.
class JSONIndexTest < GuildhallTest
  KEYS = Array.new(300) do |i|
    ["plain #{i}", "\u00e9 #{i}", "line\n#{i}", "#{"long \" " * 60}#{i}", "\u{1F600}#{i}\t", i.to_s * (i % 7)].fetch(i % 6)
  end.uniq.freeze
  WIDE = KEYS.each_with_index.to_h { |key, i| [key, i.odd? ? i : {"in" => [i]}] }.freeze
  LISTS = [1, 15, 16, 17, 33, 500].to_h { |size| [size.to_s, Array.new(size) { |i| (i % 3).zero? ? {"n" => i} : i }] }.freeze

  def test_every_key_and_those_that_are_not_there
    document = Guildhall::JSON.document(::JSON.generate(WIDE))
    small = ObjectSpace.memsize_of(document)
    3.times do
      WIDE.each { |key, value| assert document[key] == value, key }
      WIDE.each_key { |key| assert_nil document["#{key}?"] }
    end
    assert_operator ObjectSpace.memsize_of(document), :>, small + (WIDE.size * 4), "no index was made"
    assert_operator ObjectSpace.memsize_of(document), :<, small + (WIDE.size * 16) + 500
  end

  def test_every_element
    document = Guildhall::JSON.document(::JSON.generate(LISTS))
    3.times do
      LISTS.each do |key, list|
        list.each_index.to_a.shuffle.each { |i| assert document[key][i] == list[i], [key, i].inspect }
        assert_nil document[key][list.size]
        assert document[key][-1] == list.last, key
      end
    end
  end

  def test_many_long_objects_in_one_text
    many = Array.new(200) { |n| (0...40).to_h { |i| ["k#{i}", i * n] } }
    document = Guildhall::JSON.document(::JSON.generate(many))
    2.times { many.each_with_index { |object, n| object.each { |key, value| assert_equal value, document[n][key] } } }
  end

  def test_ractors_that_make_the_same_index
    assert_equal "4", assert_ruby(<<~RUBY, options: ["-W:no-experimental"])
      require "guildhall/json"
      wide = (0...2_000).to_h { |i| ["key \#{i}", [i]] }
      20.times do
        document = Guildhall::JSON.document(Guildhall::JSON.encode(wide))
        ractors = Array.new(4) { Ractor.new(document) { |doc| 2_000.times.all? { |i| doc["key \#{i}"][0] == i } } }
        @right = ractors.count { |ractor| ractor.respond_to?(:value) ? ractor.value : ractor.take }
        abort("wrong") unless @right == 4
      end
      GC.start
      print @right
    RUBY
  end
end
