# frozen_string_literal: true

require "test_helper"
require "guildhall"
require "guildhall/csv"
require "guildhall/yaml"

# What holds for every codec, ours and a user's: the protocol of docs/codecs.md.
class CodecTest < GuildhallTest
  ROOT = File.expand_path("../..", __dir__)
  # The codec of one's own, as the guide has it.
  GUIDE = File.read(File.join(ROOT, "docs/codecs.md"))
  OWN = GUIDE[/^class KeyValue.*?^end$/m]
  class_eval(OWN, "docs/codecs.md")

  RECORD = {type: "record", name: "R", fields: [{name: "id", type: "long"}, {name: "tags", type: {type: "array", items: "string"}}]}.freeze
  VALUE = {"id" => 7, "tags" => %w[a größer]}.freeze
  # Codec, value, bytes that are none of it (nil: all are).
  CODECS = {
    "JSON" => [Guildhall::JSON, VALUE, "{"], "JSON with options" => [Guildhall::JSON.new(max_nesting: 3), VALUE, "[[[[1]]]]"],
    "MessagePack" => [Guildhall::MessagePack, VALUE, "\xC1".b], "Avro" => [Guildhall::Avro.new(RECORD), VALUE, "\x02\x02"],
    "Avro, single objects" => [Guildhall::Avro::SingleObject.new([RECORD]), VALUE, "\xC3\x01".b],
    "text" => [Guildhall::Text, "größer", "\xFF"], "Latin text" => [Guildhall::Text.new(encoding: "ISO-8859-1"), "größer", nil],
    "bytes" => [Guildhall::Text.new(encoding: :bytes), "\xFF\0".b, nil], "CSV" => [Guildhall::CSV, [{"id" => "7", "x" => nil}], "a\n\"b"],
    "YAML" => [Guildhall::YAML, VALUE, "["]
  }.freeze
  LAZY = ["JSON", "JSON with options", "MessagePack", "Avro", "Avro, single objects"].freeze

  def test_decodes_what_it_encodes_into_frozen_objects
    each_codec do |codec, value, _, name|
      bytes = codec.encode(value)
      assert Ractor.shareable?(bytes), name
      assert_equal [value, value], [codec.decode(bytes), codec.call(bytes)], name
      assert Ractor.shareable?(codec.decode(bytes)), name
      assert_equal [value, value], codec.decode_batch([bytes, +bytes]), name
      assert_empty codec.decode_batch([]), name
    end
  end

  def test_leaves_what_it_is_given_alone
    each_codec do |codec, value, wrong, name|
      [codec.encode(value), *wrong].each do |given|
        bytes = given.dup
        encoding = bytes.encoding
        codec.decode(bytes) rescue nil # rubocop:disable Style/RescueModifier
        assert_equal [given, encoding, false], [bytes, bytes.encoding, bytes.frozen?], name
      end
    end
  end

  def test_is_frozen_and_works_in_a_ractor
    each_codec do |codec, value, wrong, name|
      assert Ractor.shareable?(codec), name
      ractor = Ractor.new(codec, codec.encode(value), wrong) do |shared, bytes, broken|
        raised_by = begin
          shared.decode(broken) if broken
        rescue Guildhall::DecodeError => error
          error.codec
        end
        [shared.decode(bytes), shared.encode(shared.decode(bytes)) == bytes, raised_by.is_a?(String)]
      end
      found = ractor_value(ractor)
      assert_equal [value, true, !wrong.nil?], found, name
    end
  end

  def test_says_what_is_no_payload
    each_codec do |codec, _, wrong, name|
      next if wrong.nil?

      assert_raises(Guildhall::DecodeError, name) { codec.decode(wrong) }
      assert_raises(Guildhall::DecodeError, name) { codec.decode_batch([wrong]) }
    end
  end

  # Text that its own encoding, or the way to UTF-8, has no place for.
  def test_text_that_cannot_be_written
    texts = {"Windows-1252" => "\x81", "UTF-16BE" => "\xD8", "Shift_JIS" => "\x82", "UTF-7" => "abc", "Emacs-Mule" => "\x80"}.map { |name, bytes| bytes.dup.force_encoding(name) }
    [Guildhall::JSON, Guildhall::MessagePack, Guildhall::Avro.new({type: "map", values: "string"})].each do |codec|
      texts.each do |text|
        assert_raises(Guildhall::EncodeError, [codec, text.encoding].inspect) { codec.encode({"a" => text}) }
        assert_raises(Guildhall::EncodeError, [codec, text.encoding].inspect) { codec.encode({text => "a"}) }
      end
    end
    texts.each { |text| assert_raises(Guildhall::DecodeError, text.encoding.name) { Guildhall::JSON.document(text) } }
  end

  def test_documents_show_the_same
    LAZY.each do |name|
      codec, value, wrong = CODECS.fetch(name)
      bytes = codec.encode(value)
      [codec.document(bytes), codec.lazy.decode(bytes), codec.lazy.call(bytes), *codec.lazy.decode_batch([bytes])].each do |document|
        assert_operator document, :==, value, name
        assert_equal value, document.to_h, name
        assert Ractor.shareable?(document), name
      end
      assert_kind_of Integer, codec.lazy.native_decoder, name
      assert_raises(Guildhall::DecodeError, name) { codec.document(wrong) }
    end
    assert_empty CODECS.keys.select { |name| CODECS[name].first.respond_to?(:document) } - LAZY
  end

  def test_the_guides_own_codec
    assert_operator OWN.lines.grep(/\S/).size, :<=, 16
    codec = KeyValue.new
    assert_equal({"id" => "7", "state" => "paid"}, codec.decode("id=7;state=paid"))
    assert_equal "KeyValue: a pair has no =", assert_raises(Guildhall::DecodeError) { codec.decode("id") }.message
    assert_equal [{"a" => "1"}, {"b" => "2"}], codec.decode_batch(["a=1", "b=2"])
    assert_nil codec.native_decoder
    pipeline = KeyValue.new(separator: ",") >> Ractor.make_shareable(:size.to_proc)
    assert_equal 2, ractor_value(Ractor.new(pipeline) { |task| task.call("a=1,b=2") })
    assert_same pipeline.decoder.class, KeyValue
  end

  private

  def each_codec = CODECS.each { |name, (codec, value, wrong)| yield codec, value, wrong, name }
end
