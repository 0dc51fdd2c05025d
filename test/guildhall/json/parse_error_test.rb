# frozen_string_literal: true

require "guildhall/json"

class JSONParseErrorTest < GuildhallTest
  CODEC = Guildhall::JSON

  # text => byte, path, words of the reason
  ERRORS = {
    "" => [0, "$", "the input is empty"], "  \n " => [4, "$", "the input is empty"], "{" => [1, "$", "end of input"],
    "[1" => [2, "$[0]", "end of input"], '{"a"' => [4, "$.a", "end of input"], '{"a":' => [5, "$.a", "end of input"],
    "[1,]" => [3, "$[1]", "unexpected"], '{"a":1,}' => [7, "$", "object key"], "[1 2]" => [3, "$[0]", "expected ','"],
    '{"a":1 "b":2}' => [7, "$.a", "expected ','"], '{"a" 1}' => [5, "$.a", "expected ':'"], "{1:2}" => [1, "$", "object key"],
    "[01]" => [1, "$[0]", "number"], "[-]" => [1, "$[0]", "number"], "[1.]" => [1, "$[0]", "number"], "[1e]" => [1, "$[0]", "number"],
    "[.5]" => [1, "$[0]", "unexpected"], "[+1]" => [1, "$[0]", "unexpected"], "[1] x" => [4, "$", "after the document"],
    "tru" => [0, "$", "unexpected"], "[nul]" => [1, "$[0]", "unexpected"], "[truefalse]" => [5, "$[0]", "expected ','"],
    "NaN" => [0, "$", "allow_nan"], "[-Infinity]" => [1, "$[0]", "allow_nan"], "[Infinity]" => [1, "$[0]", "allow_nan"],
    '["abc' => [5, "$[0]", "inside a string"], "[\"a\tb\"]" => [3, "$[0]", "control character"], "[\"a\u0000\"]" => [3, "$[0]", "control character"],
    '["\x"]' => [2, "$[0]", "escape"], '["\u12"]' => [2, "$[0]", "\\u"], '["\u12G4"]' => [2, "$[0]", "\\u"], '["\\' => [3, "$[0]", "inside a string"],
    '["\ud800"]' => [2, "$[0]", "surrogate"], '["\udc00"]' => [2, "$[0]", "surrogate"], '["\ud800\u0041"]' => [2, "$[0]", "surrogate"],
    "// x\n[1]" => [0, "$", "unexpected"], "[1]/**/" => [3, "$", "after the document"], "\uFEFF[1]" => [0, "$", "unexpected"],
    "['a']" => [1, "$[0]", "unexpected"], "[1}" => [2, "$[0]", "expected ','"], '{"a":[1,{"b":2]}' => [14, "$.a[1].b", "expected ','"],
    '{"a":1,"b":{"c":1,"c":2}}' => [18, "$.b.c", "duplicate key"], '[{"a":1},{"x y":[0,?]}]' => [19, '$[1]["x y"][1]', "unexpected"]
  }.freeze

  def test_each_error_says_where_it_is
    ERRORS.each do |text, (offset, path, reason)|
      [-> { CODEC.decode(text) }, -> { CODEC.document(text) }].each do |attempt|
        error = assert_raises(CODEC::ParseError, text.inspect, &attempt)
        assert_equal [offset, path], [error.offset, error.path], text.inspect
        assert_includes error.message, reason, text.inspect
        assert_equal "JSON", error.codec
      end
    end
  end

  NOT_UTF8 = ["\xC3", "\x80", "\xC0\xAF", "\xC1\xBF", "\xE0\x9F\x80", "\xE2\x82", "\xED\xA0\x80", "\xF0\x8F\x80\x80", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80",
              "\xF0\x9F\x98", "\xFF", "\xE2\x28\xA1", "\xC3\xC3"].map(&:b).freeze

  # Blocks of vectors begin and end somewhere: an error is found wherever it stands, and nothing valid is taken for one.
  def test_invalid_utf8_at_every_place
    ["a", "é", "東", "😀", "aé東😀"].each do |unit|
      text = (unit * 40)[0, 40]
      (0..40).each do |place|
        NOT_UTF8.each do |invalid|
          before = "[\"#{text[0, place]}".b
          error = assert_raises(CODEC::ParseError) { CODEC.decode("#{before}#{invalid}#{text[place..].b}\"]".b) }
          assert_equal before.bytesize, error.offset, "#{unit} #{place} #{invalid.inspect}"
        end
        assert_equal [text[place..]], CODEC.decode("[\"#{text[place..]}\"]")
      end
    end
  end

  def test_invalid_utf8
    {"\xFF" => 0, "ok\x80" => 2, "\xC3" => 0, "\xE2\x82" => 0, "\xC0\xAF" => 0, "\xED\xA0\x80" => 0, "\xF4\x90\x80\x80" => 0, "\xF0\x9F\x98" => 0,
     "é\xE9" => 2, "#{"é" * 100}\xE9#{"é" * 100}" => 200}.each do |bytes, offset|
      text = "{\"größe\":[\"#{bytes}\"]}"
      error = assert_raises(CODEC::ParseError, bytes.inspect) { CODEC.decode(text) }
      assert_equal 13 + offset, error.offset, bytes.inspect
      assert_includes error.message, "UTF-8"
    end
  end

  def test_line_and_column
    error = assert_raises(CODEC::ParseError) { CODEC.decode("{\n  \"größe\": 1,\n  \"ü\": tru\n}") }
    assert_equal [3, 8], [error.line, error.column]
    assert_equal "JSON: unexpected character at byte 26, line 3, column 8, $[\"\\xC3\\xBC\"]", error.message
  end

  def test_the_excerpt_is_safe_to_log
    error = assert_raises(CODEC::ParseError) { CODEC.decode("[\e]0;owned\a\xFF" + "x" * 100) }
    assert_operator error.excerpt.bytesize, :<=, 40
    assert_match(/\A[ -~]*\z/, error.excerpt)
    assert_match(/\A[ -~]*\z/, error.message)
  end

  def test_long_paths_are_cut
    error = assert_raises(CODEC::ParseError) { CODEC.decode("[{\"#{"k" * 300}\":" * 40 + "?") }
    assert_operator error.path.bytesize, :<, 512
    assert_match(/\A\$\[0\]\.kkk.*\.\.\..*\[0\]\.k+\z/, error.path)
  end

  def test_is_a_decode_error
    assert_operator CODEC::ParseError, :<, Guildhall::DecodeError
    assert_raises(Guildhall::Error) { CODEC.decode("[") }
  end

  def test_rescued_as_the_gems_own
    ["require 'json'; require 'guildhall/json'", "require 'guildhall/json'; require 'json'"].each do |order|
      out = assert_ruby(<<~RUBY)
        #{order}
        begin
          Guildhall::JSON.decode("[")
        rescue JSON::NestingError
          puts "too broad"
        rescue JSON::ParserError => error
          puts error.class
        end
        begin
          JSON.parse("[")
        rescue Guildhall::JSON::ParseError
          puts "too broad"
        rescue JSON::ParserError => error
          puts error.class
        end
      RUBY
      assert_equal "Guildhall::JSON::ParseError\nJSON::ParserError\n", out
    end
  end

  # Ruby 3.4 crashes if they change it.
  def test_two_ractors_do_not_both_change_the_gems_class
    out = assert_ruby(<<~'RUBY')
      require "guildhall/json"
      require "json"
      Warning[:experimental] = false
      require "guildhall/queue"
      COUNTED = Guildhall::Queue.new(100)
      class JSON::ParserError
        def self.extend(*) = COUNTED.push(1) && sleep(0.3) && super
      end
      ractors = Array.new(4) do
        Ractor.new do
          50.times do
            Guildhall::JSON.decode("[")
          rescue Guildhall::DecodeError
            nil
          end
        end
      end
      ractors.each { |ractor| ractor.respond_to?(:value) ? ractor.value : ractor.take }
      p COUNTED.size
    RUBY
    assert_equal "1\n", out
  end

  def test_raised_in_a_ractor
    out = assert_ruby(<<~RUBY)
      require "guildhall/json"
      require "json"
      Warning[:experimental] = false
      ractor = Ractor.new do
        Guildhall::JSON.decode('{"a":[1,}')
      rescue JSON::ParserError => error
        [error.class.name, error.path]
      end
      p ractor.respond_to?(:value) ? ractor.value : ractor.take
    RUBY
    assert_equal %(["Guildhall::JSON::ParseError", "$.a[1]"]\n), out
  end
end
