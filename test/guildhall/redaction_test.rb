# frozen_string_literal: true

require "test_helper"
require "json"
require "uri"
require "guildhall/errors"

class RedactionTest < GuildhallTest
  SECRET = "ada@example.com"
  PAYLOAD = {"email" => SECRET, "age" => 4711}.freeze
  # What Ruby and the json gem quote, and what is left of it.
  QUOTING = {
    "can't modify frozen Hash; payloads are frozen: use payload.to_h.dup" => -> { PAYLOAD["a"] = 1 },
    "can't modify frozen Array; payloads are frozen: use payload.to_a.dup" => -> { PAYLOAD.values.freeze << 1 },
    "can't modify frozen String; payloads are frozen: use text.dup" => -> { SECRET << "x" },
    "key not found" => -> { {}.fetch(PAYLOAD["email"]) },
    "no price" => -> { raise KeyError, "no price" },
    "key not found: :mail" => -> { PAYLOAD.fetch(:mail) },
    Guildhall::Redaction::LEFT_OUT => -> { PAYLOAD => {email: String} },
    "invalid value for Integer(): …" => -> { Integer(PAYLOAD["email"]) },
    "invalid value for Float(): …" => -> { Float("#{PAYLOAD["email"]} \"quoted\"") },
    "comparison of String with … failed" => -> { PAYLOAD["email"] > 4711 },
    "index … outside of array bounds: …" => -> { [].fetch(PAYLOAD["age"]) },
    "… from UTF-8 to US-ASCII" => -> { raise Encoding::UndefinedConversionError, "\"#{SECRET}\" from UTF-8 to US-ASCII" },
    "line 2 column 5" => -> { raise JSON::ParserError, "unexpected token at '#{SECRET}' line 2 column 5" },
    "bad URI" => -> { URI.parse("http://#{SECRET} x") }
  }.freeze
  # Ordinary words, and what names classes and methods.
  KEPT = {
    "boom 17 \"x\"" => -> { raise "boom 17 \"x\"" },
    "undefined method 'total' for nil" => -> { PAYLOAD["order"].total },
    "nil can't be coerced into Integer" => -> { 1 + PAYLOAD["order"] },
    "no implicit conversion of Integer into String" => -> { "a" + 1 },
    "wrong number of arguments (given 1, expected 0)" => -> { -> {}.call(1) }
  }.freeze

  def test_messages_that_quote_a_value_do_not_show_it
    QUOTING.each do |expected, raiser|
      error = raised(&raiser)
      assert_equal expected, Guildhall::Redaction.message(error), error.class.to_s
      assert_includes Guildhall::Redaction.message(error, messages: true), error.message[0, 30].scrub
    end
  end

  def test_ordinary_messages_are_kept_and_their_errors_too
    KEPT.each do |expected, raiser|
      error = raised(&raiser)
      assert_equal expected, Guildhall::Redaction.message(error)
      assert_same error, Guildhall::Redaction.copy(error)
    end
  end

  def test_a_copy_has_class_place_and_cause_but_nothing_of_the_payload
    error = raised do
      PAYLOAD.fetch(SECRET)
    rescue KeyError => error
      raise "it failed: #{error.message}"
    end
    copy = Guildhall::Redaction.copy(error)
    assert_equal ["it failed: key not found", RuntimeError, error.backtrace], [copy.message, copy.class, copy.backtrace]
    assert_equal [KeyError, "key not found", error.cause.backtrace], [copy.cause.class, copy.cause.message, copy.cause.backtrace]
    texts = [copy, copy.cause].flat_map { |one| [one.message, one.to_s, one.inspect, one.full_message(highlight: false), one.detailed_message] }
    texts.each { |text| refute_match(/ada|4711/, text.lines.reject { |line| line.include?("from ") }.join) }
    assert_raises(::ArgumentError) { copy.cause.receiver }
    assert_same error, Guildhall::Redaction.copy(error, messages: true)
    assert_includes error.cause.message, SECRET # the error itself is as it was
  end

  def test_an_excerpt_is_shown_where_everything_is
    error = Guildhall::DecodeError.new("wrong", codec: "JSON", offset: 3, line: 1, column: 4, path: "$.a", excerpt: SECRET)
    assert_equal "JSON: wrong at byte 3, line 1, column 4, $.a", Guildhall::Redaction.message(error)
    assert_equal "JSON: wrong at byte 3, line 1, column 4, $.a: #{SECRET}", Guildhall::Redaction.message(error, messages: true)
    copy = Guildhall::Redaction.copy(error)
    refute_includes copy.detailed_message, SECRET
    assert_nil copy.excerpt
  end

  def test_a_line_has_an_end
    error = RuntimeError.new("é\n" * 5_000)
    assert_operator Guildhall::Redaction.message(error).size, :<=, 301
    assert_operator Guildhall::Redaction.message(error, messages: true).size, :<=, 1_001
    refute_includes Guildhall::Redaction.message(error), "\n"
  end

  # Classes whose own methods raise, whose `initialize` wants something, and that say what a payload was in a method of their own.
  def test_strange_errors
    raising = Class.new(StandardError) { def message = raise("no") }.new
    assert_equal "(its message raises RuntimeError)", Guildhall::Redaction.message(raising)
    assert_equal "(its message raises RuntimeError)", Guildhall::Redaction.copy(raising).message
    wanting = Class.new(KeyError) { def initialize(a:, b:) = super("key not found: #{a.inspect} #{b}") }.new(a: SECRET, b: 1)
    assert_equal "key not found", Guildhall::Redaction.copy(wanting).message
    assert_kind_of KeyError, Guildhall::Redaction.copy(wanting)
  end

  def test_causes_that_repeat_each_other_come_to_an_end
    error = raised do
      10.times.reduce(nil) do |before, _|
        raise KeyError, "key not found: \"#{SECRET}\""
      rescue KeyError => error
        before || error
      end.then { |cause| raise("outer", cause:) }
    end
    refute_includes Guildhall::Redaction.copy(error).cause.message, SECRET
  end

  private

  def raised
    yield
  rescue Exception => error # rubocop:disable Lint/RescueException -- pattern matching raises StandardErrors, and mistakes here none
    error
  else
    flunk("nothing was raised")
  end
end
