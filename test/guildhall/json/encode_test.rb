# frozen_string_literal: true

require "guildhall/json"
require "json"
require_relative "../../support/json_values"
require_relative "../../support/webhooks"

class JSONEncodeTest < GuildhallTest
  CODEC = Guildhall::JSON

  def test_writes_what_the_gem_writes
    [nil, true, 1, -(2**62), 2**100, 1.5, -0.0, 1e15, 1e-5, "é\u2028\u007f\u0001\b\t\"\\/", :symbol, [], {}, {1 => 2, nil => 3, a: :b, 1.5 => [nil]},
     "x" * 10_000, {"k" * 5_000 => ["é" * 3_000]}, Time.at(0).utc, 1r, "latin é".encode("ISO-8859-1"), "utf16 é".encode("UTF-16LE")].each do |value|
      assert_equal JSON.generate(value), CODEC.encode(value)
    end
  end

  def test_round_trips
    values = JSONValues.new(seed: 31)
    500.times do
      value = values.any
      assert value.eql?(CODEC.decode(CODEC.encode(value))), value.inspect
    end
    Webhooks.texts.first(40).each { |text| assert_equal text, CODEC.encode(CODEC.decode(text)) }
  end

  def test_result_is_frozen_and_shareable
    text = CODEC.encode({"é" => [1]})
    assert Ractor.shareable?(text)
    assert_equal [Encoding::UTF_8, true], [text.encoding, text.valid_encoding?]
  end

  # Shorter than Float#to_s never, and the same number when read back.
  def test_floats_are_shortest
    random = Random.new(8)
    5_000.times do
      float = [random.rand(2**64)].pack("Q").unpack1("D")
      next unless float.finite?

      written = CODEC.encode(float)
      assert float.eql?(Float(written)), written
      assert_equal significant(float.to_s), significant(written)
    end
  end

  def test_documents_are_copied
    document = CODEC.document('{"a": [1, {"b" : 2}], "c":1.0e1}')
    assert_equal '[{"a": [1, {"b" : 2}], "c":1.0e1},[1, {"b" : 2}]]', CODEC.encode([document, document["a"]])
  end

  def test_texts_of_to_json_are_utf8
    own = Struct.new(:text) { def to_json(*) = text }
    assert_equal "[\"é\"]", Guildhall::JSON.encode([own.new("\"é\"".encode("UTF-16LE"))])
    assert_equal "[\"é\"]", Guildhall::JSON.encode([own.new("\"é\"".b)])
    ["\"\xff\"", "\"\xff\"".b].each { |text| assert_raises(Guildhall::EncodeError) { Guildhall::JSON.encode([own.new(text)]) } }
  end

  def test_objects_write_themselves
    custom = Struct.new(:id) { def to_json(*) = "{\"custom\":#{id}}" }
    assert_equal '[{"custom":7}]', CODEC.encode([custom.new(7)])
    with_state = Struct.new(:id) { def to_json(state) = "{\"state\":#{state.inspect.dump}}" }
    assert_equal '[{"state":"nil"}]', CODEC.encode([with_state.new(7)])
  end

  def test_what_cannot_be_written
    cycle = [].tap { |array| array << array }
    {"UTF-8" => "\xFF", "binary" => "\xFF".b, "allow_nan" => Float::NAN, "max_nesting" => cycle, "same text" => {"a" => 1, a: 2}}.each do |word, value|
      error = assert_raises(CODEC::EncodeError) { CODEC.encode([value]) }
      assert_includes error.message, word
    end
    assert_equal "[NaN,-Infinity]", CODEC.new(allow_nan: true).encode([Float::NAN, -Float::INFINITY])
    assert_equal '{"a":1,"a":2}', CODEC.new(allow_duplicate_key: true).encode({"a" => 1, a: 2})
    assert_equal "[1]", CODEC.encode([1]), "after an error"
  end

  # Texts are copied in blocks that overlap.
  def test_escapes_at_every_place_of_texts_of_every_length
    marks = ["\"", "\\", "\n", "\u0000", "\u001f", "\u007f", " ", "!", "é", "\u2028"]
    70.times do |length|
      plain = ("abcdefghij" * 7)[0, length]
      assert_equal JSON.generate({plain => plain}), CODEC.encode({plain => plain})
      marks.each do |mark|
        (0..length).each do |place|
          text = plain.dup.insert(place, mark)
          assert_equal JSON.generate([text, text.reverse]), CODEC.encode([text, text.reverse])
        end
      end
    end
  end

  def test_integers_of_every_length
    numbers = (0..20).flat_map { |digits| [10**digits, (10**digits) - 1, 7 * (10**digits), 12_345_678_901_234_567_890 / (10**digits)] }
    numbers += [2**62, (2**62) - 1, 2**63, 2**64]
    assert_equal JSON.generate(numbers + numbers.map(&:-@)), CODEC.encode(numbers + numbers.map(&:-@))
  end

  def test_nested_deeper_than_the_stack
    codec = CODEC.new(max_nesting: 1_000_000)
    [codec.decode("[" * 500_000 + "]" * 500_000), codec.decode('{"a":' * 200_000 + "1" + "}" * 200_000)].each do |deep|
      assert_raises(SystemStackError) { codec.encode(deep) }
      Fiber.new { assert_raises(SystemStackError) { codec.encode(deep) } }.resume
      assert_raises(SystemStackError) { Thread.new { codec.encode(deep) }.tap { it.report_on_exception = false }.join }
    end
    assert_equal "[[1]]", codec.encode([[1]])
  end

  # What a codec writes, it reads.
  def test_limits_hold_for_what_is_written
    raw = Struct.new(:text) { def to_json(*) = text }
    deep = Guildhall::JSON.new(max_nesting: 200).document("#{"[" * 99}1#{"]" * 99}")
    {{max_bytes: 3} => 1234, {max_digits: 17} => 10**17, {max_digits: 17, decimal_class: BigDecimal} => 1e20, {} => [[deep]], {decimal_class: Rational} => 1r / 3,
     {max_nesting: 100} => {"é" => 1, "é".encode("ISO-8859-1") => 2}, {allow_nan: false} => raw.new("NaN"), {allow_trailing_comma: true} => [1, raw.new("")],
     {max_nesting: 3} => [raw.new("[[[1]]]")], {allow_nan: true} => [raw.new("1],[2")]}.each do |options, value|
      assert_raises(Guildhall::JSON::EncodeError, options.to_s) { Guildhall::JSON.new(**options).encode(value) }
    end
    assert_equal "[#{deep.source}]", Guildhall::JSON.encode([deep])
    assert_equal "[[[1]]]", Guildhall::JSON.new(max_nesting: 3).encode([raw.new("[[1]]")])
    digits = Guildhall::JSON.new(max_digits: 17, decimal_class: BigDecimal).document("[1e15]")
    assert_equal "[1e15]", Guildhall::JSON.encode(digits)
    assert_raises(Guildhall::JSON::EncodeError) { Guildhall::JSON.new(max_digits: 17).encode(Guildhall::JSON.document("[#{"9" * 18}]")) }
  end

  def test_rationals_are_numbers_where_the_codec_reads_them
    codec = Guildhall::JSON.new(decimal_class: Rational)
    {1r / 4 => "0.25", -1r / 5 => "-0.2", 3r => "3.0", 12_345r / 100 => "123.45", 1r / 1000 => "0.001"}.each do |number, text|
      assert_equal [text, number], [codec.encode(number), codec.decode(codec.encode(number))]
    end
    assert_equal '"1/4"', Guildhall::JSON.encode(1r / 4)
  end

  private

  def significant(text) = text.sub(/e.*/i, "").delete("^0-9").sub(/\A0+/, "").sub(/0+\z/, "")
end
