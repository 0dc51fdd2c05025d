# frozen_string_literal: true

require "json"
require "guildhall/json"

# The reader expects the key that came last time after the two before it. Each text is read several times, so that what was
# learnt from it is used, and what was learnt from another is wrong.
class JSONKeyPredictorTest < GuildhallTest
  CODEC = Guildhall::JSON
  TIMES = 3
  COLONS = [":", ": ", " :", " : ", "\n:\t"].freeze

  def test_keys_of_every_length_however_they_are_written
    texts = (0..40).to_a.product(COLONS).map do |length, colon|
      %({#{text("k" * length, colon, "[1,{#{text("id", colon, "2")}}]")}, #{text("é#{"x" * length}", colon, '"x"')},#{text("id", colon, "{}")}})
    end
    read(texts)
  end

  def test_keys_near_the_end_of_the_text
    read((0..40).flat_map { |length| [%({"#{"k" * length}":1}), %({"#{"k" * length}":""}#{" " * length}), %([{"#{"k" * length}":{}}])] })
  end

  def test_the_same_key_before_different_ones
    orders = %w[id name at by].permutation.map { |names| "{#{names.map { |name| text(name, ":", %({"id":1,"#{name}":2})) }.join(",").gsub('"id":1,"id"', '"id"')}}" }
    read(orders)
  end

  def test_keys_in_several_native_threads
    texts = Array.new(50) { |index| %({"a#{index}":1,"b":{"a#{index + 1}":2}}) }
    assert_equal(Array.new(4) { texts.map { |each| JSON.parse(each) } }, Array.new(4) { Ractor.new(texts.map(&:freeze).freeze) { |all| all.map { |each| Guildhall::JSON.decode(each) } } }.map { |ractor| value_of(ractor) })
  end

  def test_errors_stay_where_they_are
    good = %({"first":1,"second":{"third":"x","fourth":null},"fifth":[true,{"sixth":2}]}) + (" " * 40)
    bad = {%("second":) => [%("second" ), %("second":,), %("second"::), %(second":), %("secon\\d":), %("first":)],
           %("sixth":2) => [%("sixth":2,), %("sixth":), %("sixth"), %("sixth":2,"sixth":3), "\0" * 40]}
    texts = bad.flat_map { |right, wrong| wrong.map { |each| good.sub(right) { each } } }
    before = texts.map { |each| error(each) }
    TIMES.times { assert_equal JSON.parse(good), CODEC.decode(good) }
    assert_equal before, texts.map { |each| error(each) }
  end

  def test_texts_that_end_early
    text = %({"first":1,"second":{"third":"x","fourth":[null]},"fifth":"#{"y" * 40}"})
    read([text])
    (0...text.size).each { |size| assert_includes (size - 3)..size, error(text[0, size]).last, text[0, size] } # null is four characters
  end

  def test_characters_that_are_not_checked
    lenient = CODEC.new(allow_control_characters: true)
    assert_equal({"\0" * 40 => 1, "" => 2}, lenient.decode(%({"#{"\0" * 40}":1,"":2#{" " * 40}})))
    assert_raises(CODEC::ParseError) { lenient.decode("{#{"\0" * 64}}") }
  end

  # Where keys vary, nothing is foreseen for a while, and then it is tried again: what is read stays the same.
  def test_keys_that_never_come_again_between_those_that_do
    fresh = Array.new(60) { |number| "{#{Array.new(40) { |index| text("k#{number}_#{index}", ":", "{#{text("é#{number * index}", " :", "1")}}") }.join(",")}}" }
    again = Array.new(60) { %([{"id":1,"name":"a","tags":["x"]},{"id":2,"name":"b","tags":[]}]) }
    5.times { (fresh + again + fresh.zip(again).flatten).each { |each| assert_equal JSON.parse(each), CODEC.decode(each) } }
    assert_match(/duplicate key/, error(fresh.first.sub("k0_39", "k0_0")).first)
  end

  private

  def text(key, colon, value) = %("#{key}"#{colon}#{value})

  def read(texts)
    TIMES.times do
      texts.shuffle(random: Random.new(7)).each { |each| assert_equal JSON.parse(each, allow_duplicate_key: false), CODEC.decode(each), each }
    end
  end

  def error(text)
    error = assert_raises(CODEC::ParseError, text) { CODEC.decode(text) }
    [error.message, error.offset]
  end

  def value_of(ractor) = ractor.respond_to?(:value) ? ractor.value : ractor.take
end
