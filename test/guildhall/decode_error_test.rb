# frozen_string_literal: true

require "test_helper"
require "date"
require "guildhall/codecs"
require "guildhall/csv"
require "guildhall/pool"
require "guildhall/yaml"

# What every codec's errors have in common: they say where, and what they quote of a hostile payload is safe to log.
class DecodeErrorTest < GuildhallTest
  # A terminal's title, a new line, a change of direction, a lot of it.
  HOSTILE = "\e]0;owned\a\r\n2026-01-01 INFO all is well\u202E#{"x" * 2_000}".freeze
  RECORD = Guildhall::Avro.new({type: "record", name: "R", fields: [{name: "a", type: {type: "map", values: "int"}}]})

  # A codec of a user's, who takes no care.
  module Careless
    extend Guildhall::Codec

    def self.decode(bytes)
      raise Guildhall::DecodeError.new("cannot read #{bytes}", codec: "Careless", path: "$.#{bytes}", excerpt: bytes)
    end
  end

  PAYLOADS = {
    Guildhall::JSON => ["{\"#{HOSTILE}\":tru}", "[#{HOSTILE}", "{\"#{HOSTILE.to_json[1..-2]}\":[1,?]}"],
    Guildhall::MessagePack => [Guildhall::MessagePack.encode({HOSTILE => [1]})[0..-2], "\xC1#{HOSTILE}", "\x81".b + Guildhall::MessagePack.encode(HOSTILE) + "\xC1".b],
    RECORD => [RECORD.encode({"a" => {HOSTILE => 1}})[0..-3], "\x02#{HOSTILE}"],
    Guildhall::Avro::SingleObject.new(["int"]) => [HOSTILE, "\xC3\x01#{HOSTILE}"],
    Guildhall::Text => ["\xFF#{HOSTILE}", "#{HOSTILE}\xFF"],
    Guildhall::CSV.new(converters: :integer) => ["#{HOSTILE.inspect.delete("\"")}\n\"#{HOSTILE}\"\n", "a\n\"#{HOSTILE}\n", "a\n\xFF#{HOSTILE}\n"],
    Guildhall::YAML => ["a: [#{HOSTILE}", "--- !ruby/object:Fo%1B]0;owned%07%0A#{"x" * 500} {}", "a: *x%1B\n", "- !<tag:%0A> 2024-01-01", "\xFF#{HOSTILE}"],
    Careless => [HOSTILE]
  }.freeze

  def test_are_safe_to_log
    PAYLOADS.each do |codec, payloads|
      payloads.each do |bytes|
        error = assert_raises(Guildhall::DecodeError, "#{codec} #{bytes[0, 60].inspect}") { codec.decode(bytes.b) }
        [error.message, error.reason.to_s, error.path.to_s].each { |text| assert_safe(text) }
        assert_match(/\A[ -~]{0,40}\z/, error.excerpt.to_s, codec.to_s)
        refute_nil error.codec
      end
    end
  end

  def test_errors_of_a_schema_are_safe_to_log
    validator = Guildhall::Schema.new({"additionalProperties" => {"properties" => {"a" => false}}}).validator
    errors = validator.errors({HOSTILE => {"a" => 1}})
    assert_equal ["/#{HOSTILE.gsub("/", "~1")}/a"], errors.map(&:instance_location)
    assert_safe errors.first.to_s
    assert_safe assert_raises(Guildhall::ValidationError) { validator.validate!({HOSTILE => {"a" => 1}}) }.message
  end

  # Values: what stands in place of another type, in quotes, behind a wrong byte.
  SECRET = "ada-4711"
  QUOTED = {
    Guildhall::JSON => ["{\"a\": #{SECRET}}", "{\"a\": \"#{SECRET}\" \"#{SECRET}\"}", "{\"a\": \"#{SECRET}\xFF\"}"],
    Guildhall::MessagePack => ["\xC1#{SECRET}", "\xA9#{SECRET}"],
    RECORD => ["\x02#{SECRET}"],
    Guildhall::Text => ["#{SECRET}\xFF#{SECRET}"],
    Guildhall::Text.new(encoding: "Windows-1252") => ["#{SECRET}\x81#{SECRET}"],
    Guildhall::CSV.new(converters: {"a" => :integer}) => ["a\n#{SECRET}\n", "a\n\"#{SECRET}\"x\n"],
    Guildhall::CSV.new(converters: {"a" => :boolean}) => ["a\n#{SECRET}\n"],
    Guildhall::CSV.new(converters: {"a" => :time}) => ["a\n#{SECRET}\n"],
    Guildhall::YAML => ["a: [#{SECRET}", "a: !!float #{SECRET}", "a: \"#{SECRET}"]
  }.freeze

  def test_their_messages_quote_no_values
    QUOTED.each do |codec, payloads|
      payloads.each do |bytes|
        error = assert_raises(Guildhall::DecodeError, "#{codec} #{bytes.inspect}") { codec.decode(bytes.b) }
        [error.message, error.reason.to_s].each { |text| refute_match(/ada|4711/, text, codec.to_s) }
      end
    end
  end

  def test_who_decodes_does_not_matter
    payload = "{\"a\": #{SECRET}}"
    errors = [Guildhall::JSON, Guildhall::JSON.lazy].map { |codec| assert_raises(Guildhall::DecodeError) { codec.decode(payload)["a"] } }
    Guildhall::Pool.open(workers: 1) do |pool|
      errors << assert_raises(Guildhall::DecodeError) { pool.map([payload], Guildhall::JSON, parallel: true) }
    end
    errors.each do |error|
      refute_includes error.message, "ada"
      assert_match(/\A#{SECRET}/, error.excerpt)
      assert_includes error.detailed_message, SECRET
    end
  end

  def test_errors_of_encoding_quote_in_their_excerpt_only
    itself = []
    itself << SECRET << itself
    cases = {Guildhall::JSON => [{"a" => Float::NAN}, itself], Guildhall::Avro.new("string") => [4711, 47.11], Guildhall::Avro.new("int") => [2**40 + 4711, SECRET],
             Guildhall::Text.new(encoding: "ISO-8859-1") => ["#{SECRET}日"]}
    cases.each do |codec, objects|
      objects.each { |object| refute_match(/ada|47\.?11|日/, assert_raises(Guildhall::EncodeError) { codec.encode(object) }.message) }
    end
    assert_equal "4711", assert_raises(Guildhall::EncodeError) { Guildhall::Avro.new("string").encode(4711) }.excerpt
    assert_equal "NaN", assert_raises(Guildhall::EncodeError) { Guildhall::JSON.encode([Float::NAN]) }.excerpt
  end

  def test_words_are_left_as_they_are
    error = Guildhall::DecodeError.new("größer als 3 ‹€›: \"日本\"", path: "$.größe", excerpt: "a b")
    assert_equal "größer als 3 ‹€›: \"日本\" at $.größe", error.message
    assert_equal "größer als 3 ‹€›: \"日本\" at $.größe (Guildhall::DecodeError): a b", error.detailed_message
    assert_nil Guildhall::DecodeError.new.reason
    assert_equal "invalid payload", Guildhall::DecodeError.new.message
  end

  private

  def assert_safe(text)
    assert_predicate text, :valid_encoding?
    assert_operator text.size, :<, 1_000
    refute_match(/[[:cntrl:]\u202E\u2028]/, text)
  end
end
