# frozen_string_literal: true

require "test_helper"
require "json"
require "psych"
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
    "comparison of String with … failed#{": …" if RUBY_VERSION.to_f > 4}" => -> { PAYLOAD["email"] > 4711 },
    "index … outside of array bounds: …" => -> { [].fetch(PAYLOAD["age"]) },
    "… from UTF-8 to US-ASCII" => -> { raise Encoding::UndefinedConversionError, "\"#{SECRET}\" from UTF-8 to US-ASCII" },
    "line 2 column 5" => -> { raise JSON::ParserError, "unexpected token at '#{SECRET}' line 2 column 5" },
    "invalid symbol in encoding UTF-8 :…" => -> { "#{SECRET}\xFF".then(&:to_sym) },
    "end pattern with unmatched parenthesis: …" => -> { Regexp.new("#{SECRET}(") },
    "…, …, … or … expected for utc_offset: …" => -> { raise ::ArgumentError, %("+HH:MM", "-HH:MM", "UTC" or "Z" expected for utc_offset: #{SECRET}) },
    "unknown encoding name - …" => -> { Encoding.find(SECRET) },
    "unknown keyword: …" => -> { ->(a: 1) {}.call(**{SECRET.to_sym => 1}) },
    "comparison of Integer with :…" => -> { raise ::ArgumentError, "comparison of Integer with :ada failed" },
    "malformed format string - …" => -> { format("%#{SECRET[0]}%y#{SECRET}", 1) },
    "unknown unpack directive …" => -> { "x".unpack("y#{SECRET}") },
    "bad value …" => -> { raise ::ArgumentError, "bad value \"#{SECRET}\\" },
    "uncaught throw" => -> { throw(SECRET) },
    "bad component" => -> { URI::HTTP.build(scheme: "http", host: "a", port: SECRET) },
    "code converter not found" => -> { "a".encode(SECRET) },
    "Tried to load unspecified class" => -> { Psych.safe_load("!ruby/object:#{SECRET.delete("@.")} {}") },
    "An alias referenced an unknown anchor" => -> { Psych.safe_load("*#{SECRET.delete("@.")}", aliases: true) },
    "bad URI" => -> { URI.parse("http://#{SECRET} x") }
  }.freeze
  # Ordinary words, and what names classes and methods.
  KEPT = {
    "boom 17 \"x\"" => -> { raise "boom 17 \"x\"" },
    "undefined method 'total' for nil" => -> { PAYLOAD["order"].total },
    "nil can't be coerced into Integer" => -> { 1 + PAYLOAD["order"] },
    "no implicit conversion of Integer into String" => -> { "a" + 1 },
    "wrong number of arguments (given 1, expected 0)" => -> { -> {}.call(1) },
    "missing keyword: :id" => -> { ->(id:) { id }.call },
    "incompatible character encodings: UTF-8 and UTF-16LE" => -> { "é" + "é".encode("UTF-16LE") }
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

  # In development, when a file is saved that Ruby cannot read.
  def test_a_mistake_in_a_file_is_one_line
    error = raised { RubyVM::InstructionSequence.compile("class A\n  def x(\n  end\nend\n", "app/a.rb") }
    [true, false].each { |messages| assert_match(%r{\Aapp/a\.rb:3: unexpected 'end'[^\\]+\z}, Guildhall::Redaction.message(error, messages:)) }
    assert_same error, Guildhall::Redaction.copy(error)
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

  # Beyond the causes that are looked at nothing is shown.
  def test_deep_causes_show_nothing
    {"level" => ->(*) { "level" }, "repeats" => ->(error) { "level: #{error.message}" }}.each_value do |words|
      error = 8.times.reduce(raised { Integer(SECRET) }) { |cause, _| raised { raise RuntimeError, words[cause], cause: } }
      refute_includes Guildhall::Redaction.message(error), SECRET
      copy = Guildhall::Redaction.copy(error)
      refute_same error, copy
      assert_equal [], causes(copy).map(&:message).grep(/ada/)
    end
  end

  def test_long_and_invalid_messages
    assert_equal "caf\uFFFD is bad", Guildhall::Redaction.message(RuntimeError.new("caf\xE9 is bad"))
    assert_equal "bad …", Guildhall::Redaction.message(::ArgumentError.new("bad \"caf\xE9"))
    assert_equal "invalid value for Integer(): …", Guildhall::Redaction.message(raised { Integer("x" * 3_000_000) })
    far = ::ArgumentError.new("#{"x" * 20_000}\"#{SECRET}\"")
    refute_includes Guildhall::Redaction.copy(far).message, SECRET
    cause = raised { Integer("#{SECRET} #{"x" * 20_000}") }
    error = raised { raise "bad: #{cause.message}", cause: }
    assert_equal "bad: invalid value for Integer(): …", Guildhall::Redaction.message(error)
    error = raised { raise "#{"x" * 20_000}: #{cause.message}", cause: }
    refute_includes Guildhall::Redaction.copy(error).message, SECRET
    assert_equal "a", Guildhall::Redaction.message(RuntimeError.new("a".encode("UTF-16LE")))
  end

  # Whatever is wrong with a class, there is an error to report, and it shows nothing.
  def test_classes_that_raise_in_every_method
    text = "key not found: \"#{SECRET}\""
    strange = %i[message cause extend set_backtrace instance_variable_set exception backtrace class].map do |name|
      Class.new(KeyError) { define_method(name) { |*| raise Exception, SECRET } } # rubocop:disable Lint/RaiseException -- worse than any other
    end
    strange << Class.new(KeyError) { define_method(:cause) { self } }
    strange << Class.new(KeyError) { define_method(:exception) { |*| RuntimeError.new(text) } }
    %i[allocate name ancestors].each { |name| strange << Class.new(KeyError).tap { |klass| klass.define_singleton_method(name) { |*| raise Exception, SECRET } } } # rubocop:disable Lint/RaiseException
    strange.each do |klass|
      copy = Guildhall::Redaction.copy(klass.new(text))
      assert_equal [], causes(copy).map(&:message).grep(/ada/)
      assert_kind_of StandardError, copy
    end
    stopping = Class.new(StandardError) { def message = raise(Interrupt) }.new
    assert_raises(Interrupt) { Guildhall::Redaction.copy(stopping) }
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

  def causes(error) = error ? [error, *causes(error.cause)] : []

  def raised
    yield
  rescue Exception => error # rubocop:disable Lint/RescueException -- pattern matching raises StandardErrors, and mistakes here none
    error
  else
    flunk("nothing was raised")
  end
end
