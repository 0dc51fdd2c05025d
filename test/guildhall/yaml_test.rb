# frozen_string_literal: true

require "test_helper"
require "bigdecimal"
require "date"
require "guildhall/json"
require "guildhall/yaml"

class YAMLTest < GuildhallTest
  TEXT = "id: 1\nname: Ada\nroles: [admin, {level: 2.5}]\nnone: ~\nyes: true\n"
  VALUE = {"id" => 1, "name" => "Ada", "roles" => ["admin", {"level" => 2.5}], "none" => nil, true => true}.freeze

  def test_frozen
    value = Guildhall::YAML.decode(TEXT)
    assert_equal VALUE, value
    assert Ractor.shareable?(value)
    assert_nil Guildhall::YAML.decode("")
    assert_equal({id: 1}, Guildhall::YAML.new(symbolize_names: true).decode("id: 1"))
  end

  def test_plain_data_only
    ["--- !ruby/object:Object {}", "a: 2024-01-01", "a: :symbol", "a: &x [1]\nb: *x"].each do |text|
      error = assert_raises(Guildhall::DecodeError, text) { Guildhall::YAML.decode(text) }
      assert_equal "YAML", error.codec
    end
  end

  def test_more_by_option
    codec = Guildhall::YAML.new(permitted_classes: [Date, Symbol], permitted_symbols: [:a], aliases: true)
    value = codec.decode("d: 2024-02-29\ns: :a\nx: &x [1]\ny: *x\n")
    assert_equal({"d" => Date.new(2024, 2, 29), "s" => :a, "x" => [1], "y" => [1]}, value)
    assert Ractor.shareable?(value)
    assert_raises(Guildhall::DecodeError) { codec.decode(":b") }
  end

  def test_says_where
    error = assert_raises(Guildhall::DecodeError) { Guildhall::YAML.decode("a: 1\nb: [1\n") }
    assert_equal "YAML", error.codec
    assert_operator error.line, :>, 1
    assert_raises(Guildhall::DecodeError) { Guildhall::YAML.decode("a: \xff".b) }
  end

  def test_says_where_an_object_cannot_be_made
    {"a: 1\nb: [1, 2024-01-01]\n" => [2, 8], "a:\n  :sym" => [2, 3], "a: &x [1]\nb: *x" => [2, 4], "- 1\n- !ruby/object:Object {}" => [2, 3],
     "a: !!float x" => [1, 4], "!!float" => [1, 1]}.each do |text, place|
      error = assert_raises(Guildhall::DecodeError, text) { Guildhall::YAML.decode(text) }
      assert_equal ["YAML", place], [error.codec, [error.line, error.column]], text
    end
  end

  def test_permitted_classes_whose_object_cannot_be_made
    codec = Guildhall::YAML.new(permitted_classes: [Range, Regexp, Rational, Complex, DateTime, Set], aliases: true)
    ["!ruby/range 1..a", "!ruby/regexp /(/", "!ruby/regexp a", "!ruby/object:Rational {numerator: 1, denominator: 0}", "!ruby/object:Complex {}",
     "!ruby/object:DateTime x", "b: *nobody"].each do |text|
      error = assert_raises(Guildhall::DecodeError, text) { codec.decode(text) }
      assert_equal 1, error.line, text
    end
  end

  def test_a_stack_that_is_too_small
    codec = Guildhall::YAML.new(max_nesting: 1_000)
    fiber = Fiber.new { assert_raises(Guildhall::DecodeError) { codec.decode("#{"[" * 1_000}#{"]" * 1_000}") } }
    assert_includes fiber.resume.message, "stack"
  end

  def test_encodes
    text = Guildhall::YAML.encode(VALUE)
    assert_predicate text, :frozen?
    assert_equal VALUE, Guildhall::YAML.decode(text)
  end

  def test_what_cannot_be_written
    within_itself = [].tap { |array| array << array }
    deep = 5_000.times.reduce(nil) { |inner, _| [inner] }
    ["\xFF", "\xD8".dup.force_encoding("UTF-16BE"), "\x81".dup.force_encoding("Windows-1252"), deep].each do |value|
      [Guildhall::YAML, Guildhall::YAML.new(aliases: true)].each { |codec| assert_raises(Guildhall::EncodeError, value.inspect[0, 40]) { codec.encode([value]) } }
    end
    assert_raises(Guildhall::EncodeError) { Guildhall::YAML.encode(within_itself) }
    assert_raises(Guildhall::EncodeError) { Guildhall::YAML.new(max_nesting: 2).encode([[[1]]]) }
    assert_equal [[1]], Guildhall::YAML.new(max_nesting: 2).then { |codec| codec.decode(codec.encode([[1]])) }
    assert_equal [[]], Guildhall::YAML.new(max_nesting: 2).then { |codec| codec.decode(codec.encode([[]])) }
  end

  def test_options_are_checked
    [{permitted_classes: ["Date"]}, {permitted_classes: Date}, {permitted_symbols: ["a"]}, {max_nesting: 0}, {max_bytes: 0}, {max_bytes: 1.5},
     {aliases: 1}, {symbolize_names: "yes"}].each do |options|
      assert_raises(Guildhall::ArgumentError, options.to_s) { Guildhall::YAML.new(**options) }
    end
  end

  def test_depth_is_limited_wherever_it_runs
    ["[" * 3000 + "]" * 3000, "{a: " * 200 + "1" + "}" * 200, (0..150).map { |depth| "#{" " * depth}- \n" }.join].each do |text|
      error = assert_raises(Guildhall::DecodeError) { Guildhall::YAML.decode(text) }
      assert_includes error.message, "max_nesting"
      assert_equal ["YAML", true], [error.codec, error.line.positive?]
      assert_kind_of Guildhall::DecodeError, Fiber.new { Guildhall::YAML.decode(text) rescue $! }.resume # rubocop:disable Style/RescueModifier
    end
    assert_equal [[[1]]], Guildhall::YAML.new(max_nesting: 3).decode("[[[1]]]")
    error = assert_raises(Guildhall::DecodeError) { Guildhall::YAML.new(max_nesting: 3).decode("a:\n  b:\n    c: [1]\n") }
    assert_equal [3, 8], [error.line, error.column]
  end

  def test_what_stands_within_itself
    codec = Guildhall::YAML.new(aliases: true)
    ["- &a [*a]", "&a {b: [1, *a]}", "&a {b: &b [*a]}"].each { |text| assert_raises(Guildhall::DecodeError, text) { codec.decode(text) } }
    assert_equal [[[1], [1]], [1]], codec.decode("- &a [&a [1], *a]\n- *a")
  end

  def test_max_bytes
    assert_equal "abc", Guildhall::YAML.new(max_bytes: 3).decode("abc")
    error = assert_raises(Guildhall::DecodeError) { Guildhall::YAML.new(max_bytes: 3).decode("abcd") }
    assert_equal "YAML", error.codec
  end

  def test_reads_what_it_writes
    text = Guildhall::YAML.encode(Guildhall::JSON.decode('{"a":[],"b":[],"c":["EUR","EUR"],"d":[{},{}]}'))
    refute_includes text, "*"
    assert_equal({"a" => [], "b" => [], "c" => %w[EUR EUR], "d" => [{}, {}]}, Guildhall::YAML.decode(text))
    shared = [1]
    assert_equal "---\n- &1\n  - 1\n- *1\n", Guildhall::YAML.new(aliases: true).encode([shared, shared])
  end

  def test_in_ractors
    codec = Guildhall::YAML.new(permitted_classes: [Date])
    results = Array.new(3) { Ractor.new(codec, TEXT) { |yaml, text| [yaml.decode(text), Guildhall::YAML.decode("a: 1"), yaml.decode("2024-01-01").year, yaml.encode([1])] } }
    results.each { |ractor| assert_equal [VALUE, {"a" => 1}, 2024, "---\n- 1\n"], ractor_value(ractor) }
  end

  def test_an_error_in_a_ractor
    message = ractor_value(Ractor.new do
      Guildhall::YAML.decode("a: [1")
    rescue StandardError
      $!.message
    end)
    assert_includes message, "YAML"
  end

  def test_max_digits
    codec = Guildhall::YAML.new(max_digits: 17, permitted_classes: [Time, Rational])
    ["9" * 17, "0x#{"f" * 18}", "\"#{"9" * 18}\"", "#{"9" * 18}.5", "0.#{"9" * 18}", "#{"9" * 18} words", "2026-03-01 10:00:00.123456789"].each do |text|
      assert_equal Psych.safe_load(text, permitted_classes: [Time]), codec.decode(text)
    end
    ["9" * 18, "-#{"9" * 18}", "9,#{"9" * 17}", "9_#{"9" * 17}", "#{"9" * 17}:10", "2026-03-01 10:00:00.#{"9" * 18}", "!ruby/object:Rational 1e17",
     "!ruby/object:Rational 1/#{"3" * 18}"].each do |text|
      error = assert_raises(Guildhall::DecodeError, text) { codec.decode("a: 1\nb: #{text}\n") }
      assert_includes error.message, "max_digits, 17"
      assert_equal 2, error.line
    end
  end

  def test_an_alias_that_is_not_permitted_is_named_with_the_option
    error = assert_raises(Guildhall::DecodeError) { Guildhall::YAML.decode("a: &x 1\nb: *x") }
    assert_equal "YAML: an alias: the option aliases: true reads them at line 2, column 4", error.message
  end

  # What a payload says is in the excerpt only.
  def test_errors_quote_nothing
    codec = Guildhall::YAML.new(aliases: true)
    {"a: !ruby/object:Ada {}" => "YAML: Tried to load unspecified class: … at line 1, column 4", "a: *ada" => "YAML: An alias referenced an unknown anchor: … at line 1, column 4",
     "a: 2026-01-01" => "YAML: a Date, which is not permitted: the option permitted_classes: [Date] permits it at line 1, column 4",
     "a: :b" => "YAML: a Symbol, which is not permitted: the option permitted_classes: [Symbol] permits it at line 1, column 4"}.each do |text, message|
      error = assert_raises(Guildhall::DecodeError) { codec.decode(text) }
      assert_equal message, error.message
      assert_match(/\A(?:Ada|ada|Date|Symbol)\z/, error.excerpt)
      refute_match(/ada/i, Guildhall::Redaction.copy(error).cause&.message.to_s)
    end
  end

  def test_max_aliased
    codec = Guildhall::YAML.new(aliases: true, max_aliased: 8)
    assert_equal [[1, 2, 3], [1, 2, 3], [1, 2, 3]], codec.decode("- &a [1, 2, 3]\n- *a\n- *a\n")
    assert_equal [1, 1], Guildhall::YAML.new(aliases: true, max_aliased: 1).decode("- &a 1\n- *a\n")
    ["- &a [1, 2, 3]\n- *a\n- *a\n- *a\n", "a: &a {b: 1, c: 2}\nd:\n  <<: [*a, *a]\n", "- &a [1, 2]\n- &b [*a, *a]\n- *b\n"].each do |text|
      assert_includes assert_raises(Guildhall::DecodeError) { codec.decode(text) }.message, "max_aliased, 8"
    end
    [{max_aliased: -1}, {max_digits: 16}].each { |options| assert_raises(Guildhall::ArgumentError) { Guildhall::YAML.new(**options) } }
  end

  def test_directives_are_few
    assert_equal "a", Guildhall::YAML.decode("# c\n\n%YAML 1.1\n#{Array.new(99) { |i| "%TAG !a#{i}! x\n" }.join}--- a\n")
    error = assert_raises(Guildhall::DecodeError) { Guildhall::YAML.decode("# c\n#{Array.new(101) { |i| "%TAG !a#{i}! x\n" }.join}--- a\n") }
    assert_equal ["more than 100 directives", 102], [error.reason, error.line]
    assert_equal "#{"% a " * 200}b", Guildhall::YAML.decode("--- >-\n#{" % a\n" * 200} b\n")
  end

  def test_symbols_are_texts_unless_they_are_permitted
    assert_equal "---\na: b\n", Guildhall::YAML.encode({a: :b})
    assert_equal({a: "b"}, Guildhall::YAML.new(symbolize_names: true).then { |codec| codec.decode(codec.encode({a: :b})) })
    codec = Guildhall::YAML.new(permitted_classes: [Symbol], permitted_symbols: [:a])
    assert_equal ["---\n:a: b\n", {a: "b"}], codec.encode({a: "b"}).then { |text| [text, codec.decode(text)] }
    assert_includes assert_raises(Guildhall::EncodeError) { codec.encode(:b) }.message, "permitted_symbols"
    assert_includes assert_raises(Guildhall::EncodeError) { Guildhall::YAML.encode({a: 1, "a" => 2}) }.message, "two keys"
    both = Guildhall::YAML.new(permitted_classes: [Symbol], symbolize_names: true)
    assert_raises(Guildhall::EncodeError) { both.encode({"b" => {}, b: "x"}) }
  end

  def test_objects_of_other_classes
    point = Struct.new(:x)
    [Date.new(2026, 3, 1), Time.at(0), point.new(1), Set[1], BigDecimal("1.5"), 1r, 1i, (1..2), /a/, Object.new, Class].each do |object|
      error = assert_raises(Guildhall::EncodeError, object.inspect) { Guildhall::YAML.encode([object]) }
      assert_includes error.message, "is no plain data: name it in permitted_classes, or write what stands for it"
    end
    assert_equal({"a" => ["b"]}, Guildhall::YAML.decode(Guildhall::YAML.encode(Class.new(Hash).new.merge!(Class.new(String).new("a") => Class.new(Array).new(["b"])))))
    codec = Guildhall::YAML.new(permitted_classes: [Date, Time, Rational])
    value = {"d" => Date.new(2026, 3, 1), "t" => Time.at(1, 5, :nsec, in: "+01:00"), "r" => 1r / 3}
    assert_equal value, codec.decode(codec.encode(value))
    assert_equal Time.at(0, 333_333_333, :nsec), codec.decode(codec.encode(Time.at(1r / 3))), "to the nanosecond"
    assert_includes assert_raises(Guildhall::EncodeError) { codec.encode(Date.new(10_000, 1, 1)) }.message, "Date could not be read again"
  end

  def test_limits_hold_for_what_is_written
    {{max_digits: 17} => 10**17, {max_bytes: 5} => "abc", {max_nesting: 2} => [[[]]], {max_aliased: 1, aliases: true} => [[1, 2]] * 2}.each do |options, value|
      codec = Guildhall::YAML.new(**options)
      error = assert_raises(Guildhall::EncodeError) { codec.encode(value) }
      assert_includes error.message, options.keys.first.to_s
    end
    assert_includes assert_raises(Guildhall::EncodeError) { Guildhall::YAML.new(aliases: true).encode([].tap { |array| array << array }) }.message, "contains itself"
    numbers = Guildhall::YAML.new(permitted_classes: [BigDecimal])
    assert_includes assert_raises(Guildhall::EncodeError) { numbers.encode(BigDecimal("1e99999")) }.message, "max_digits"
  end
end
