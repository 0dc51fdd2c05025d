# frozen_string_literal: true

require "test_helper"
require "guildhall/csv"

class CSVTest < GuildhallTest
  TEXT = "id,name,price\n1,\"Ada, \"\"L\"\"\",2.50\n2,,3\n"

  # A converter as an object.
  module Cents
    def self.call(text) = Integer(text.delete("."), 10)
  end

  def test_rows_are_frozen_hashes
    rows = Guildhall::CSV.decode(TEXT)
    assert_equal [{"id" => "1", "name" => 'Ada, "L"', "price" => "2.50"}, {"id" => "2", "name" => nil, "price" => "3"}], rows
    assert Ractor.shareable?(rows)
  end

  def test_rows_without_headers
    assert_equal [%w[a b], ["c", nil]], Guildhall::CSV.new(headers: false, col_sep: ";").decode("a;b\nc;\n")
    assert_equal [{"x" => "a", "y" => "b"}], Guildhall::CSV.new(headers: %w[x y]).decode("a,b\n")
  end

  def test_typed_columns
    codec = Guildhall::CSV.new(symbolize_names: true, converters: {"id" => :integer, "price" => :decimal})
    assert_equal([[1, BigDecimal("2.5")], [2, BigDecimal("3")]], codec.decode(TEXT).map { |row| row.values_at(:id, :price) })
    all = Guildhall::CSV.new(converters: {"a" => :float, "b" => :boolean, "c" => :date, "d" => :time,
                                          "e" => Cents}).decode("a,b,c,d,e\n1.5,yes,2024-02-29,2024-02-29T10:00:00Z,1.25\n").first
    assert_equal [1.5, true, Date.new(2024, 2, 29), Time.utc(2024, 2, 29, 10), 125], all.values
    assert Ractor.shareable?(all)
    assert_equal [[1, "2"]], Guildhall::CSV.new(headers: false, converters: {0 => :integer}).decode("1,2\n")
  end

  def test_what_is_not_of_its_type
    error = assert_raises(Guildhall::DecodeError) { Guildhall::CSV.new(converters: {"price" => :integer}).decode(TEXT) }
    assert_equal ["CSV", "$[0].price", "2.50"], [error.codec, error.path, error.excerpt]
    assert_raises(Guildhall::DecodeError) { Guildhall::CSV.new(converters: :date).decode("a\n2024-02-30\n") }
  end

  def test_malformed
    error = assert_raises(Guildhall::DecodeError) { Guildhall::CSV.decode("a,b\n1,\"x\n") }
    assert_equal "CSV", error.codec
    assert_equal 2, error.line
    refute_includes error.message, "column"
    assert_raises(Guildhall::DecodeError) { Guildhall::CSV.decode("a\n\xff\n".b) }
  end

  def test_odd_rows
    assert_equal [{"a" => "1", "b" => nil}, {"a" => "1", "b" => "2", nil => "3"}], Guildhall::CSV.decode("a,b\n1\n1,2,3\n")
    assert_equal [], Guildhall::CSV.decode("a,b\n")
    assert_equal [], Guildhall::CSV.decode("")
    assert_equal [{"a" => "1"}], Guildhall::CSV.new(skip_blanks: true).decode("a\n\n1\n")
  end

  TEXTS = ["a,a\n1,2\n", "a,,\"\"\n1,2,3\n4\n", "a,b\n1,2,3,4\n", "a,,b,\n1,2,3,4,5\n", ",\n1,2,3\n", "a,b\n\n1\n", "a\n", "", "\n", "\"\",\"\"\n1,2\n"].freeze

  def test_names_and_rows_as_the_gem_has_them
    random = Random.new(5)
    made = Array.new(300) { Array.new(random.rand(1..4)) { Array.new(random.rand(0..4)) { ["a", "b", "", "\"\"", "\"x,y\"", "1"].sample(random:) }.join(",") }.join("\n") }
    [*TEXTS, *made].each do |text|
      assert_equal ::CSV.parse(text, headers: true).map(&:to_h), Guildhall::CSV.decode(text), text
      assert_equal ::CSV.parse(text, headers: %w[x y x]).map(&:to_h), Guildhall::CSV.new(headers: %w[x y x]).decode(text), text
      assert_equal ::CSV.parse(text), Guildhall::CSV.new(headers: false).decode(text), text
    end
    assert_equal [{a: "1", nil => "2"}], Guildhall::CSV.new(symbolize_names: true).decode("a,\n1,2\n")
    assert_equal [{"a" => 1, nil => 3}], Guildhall::CSV.new(converters: :integer).decode("a,a\n1,2,3\n")
  end

  def test_max_bytes
    assert_equal [], Guildhall::CSV.new(max_bytes: 3).decode("abc")
    error = assert_raises(Guildhall::DecodeError) { Guildhall::CSV.new(max_bytes: 3).decode("abcd") }
    assert_equal "CSV", error.codec
  end

  def test_encodes
    assert_equal "a,b\n1,\"x,y\"\n,2\n", Guildhall::CSV.encode([{"a" => 1, "b" => "x,y"}, {"a" => nil, "b" => 2}])
    assert_equal "1;2\n", Guildhall::CSV.new(col_sep: ";").encode([[1, 2]])
    assert_equal "", Guildhall::CSV.encode([])
    assert_equal [{"a" => "1", "b" => "x,y"}], Guildhall::CSV.decode(Guildhall::CSV.encode([{"a" => 1, "b" => "x,y"}]))
  end

  def test_what_cannot_be_written
    [nil, 1, [1], {"a" => 1}, [[1], {"a" => 1}], [{"a" => 1}, {a: 1}], [{"1" => 1, 1 => 2}], [["\xFF"]], [["\xFF".b, "é"]]].each { |rows| assert_raises(Guildhall::EncodeError, rows.inspect) { Guildhall::CSV.encode(rows) } }
    assert_equal "a,b\n1,\n,2\n", Guildhall::CSV.encode([{"a" => 1}, {"b" => 2}])
    assert_equal "a\n1\n", Guildhall::CSV.encode([{"a" => 1}].lazy)
  end

  def test_options_that_cannot_work
    [{col_sep: ""}, {col_sep: 5}, {row_sep: ""}, {row_sep: 1}, {quote_char: "xx"}, {strip: "x"}, {skip_blanks: 1}, {col_sep: "\t", strip: true}, {quote_char: " ", strip: true},
     {liberal_parsing: nil}, {max_bytes: 0}].each { |options| assert_raises(Guildhall::ArgumentError, options.to_s) { Guildhall::CSV.new(**options) } }
    error = assert_raises(Guildhall::ArgumentError) { Guildhall::CSV.new(col_sep: "", strip: 1) }
    assert_match(/col_sep.*strip/, error.message)
  end

  def test_separators_that_cannot_work
    [{col_sep: "\""}, {col_sep: "\n"}, {quote_char: "\n"}, {col_sep: ";", row_sep: ";"}, {col_sep: "|", row_sep: "||"}, {col_sep: ";", row_sep: ";".encode("UTF-16LE")},
     {col_sep: "é", quote_char: "é".encode("ISO-8859-1")}].each { |options| assert_raises(Guildhall::ArgumentError, options.to_s) { Guildhall::CSV.new(**options) } }
  end

  def test_separators_in_other_encodings
    rows = [["a", "bé日;", "\n"], [nil, ""]]
    ["é".encode("ISO-8859-1"), "日".encode("Shift_JIS"), ";".encode("UTF-16LE"), ";".b].product(%i[col_sep row_sep quote_char]) do |mark, name|
      codec = Guildhall::CSV.new(headers: false, name => mark)
      in_utf8 = Guildhall::CSV.new(headers: false, name => mark.encode("UTF-8"))
      assert_equal [rows, in_utf8.encode(rows)], [codec.decode(codec.encode(rows)), codec.encode(rows)], "#{name} #{mark.encoding}"
    end
  end

  def test_options_that_are_no_text
    ["\xFF", "\xFF".b, "é".b, "\x00\xD8".dup.force_encoding("UTF-16LE")].each do |bytes|
      %i[col_sep row_sep quote_char].each do |name|
        assert_match(/\AGuildhall::CSV: #{name} must be /, assert_raises(Guildhall::ArgumentError, bytes.inspect) { Guildhall::CSV.new(name => bytes) }.message)
      end
      {headers: ["a", bytes], converters: {bytes => :integer}}.each do |name, given|
        message = assert_raises(Guildhall::ArgumentError, "#{name} #{bytes.inspect}") { Guildhall::CSV.new(name => given) }.message
        assert_equal "Guildhall::CSV: #{name}: #{bytes.inspect} is not valid #{bytes.encoding} text", message
      end
    end
  end

  def test_names_in_other_encodings
    ["é".encode("ISO-8859-1"), "é".encode("ISO-8859-1").to_sym, "é".encode("UTF-16LE")].each do |name|
      codec = Guildhall::CSV.new(headers: ["é", name, "b"], converters: {name => :integer})
      assert_equal [{"é" => 1, "b" => "3"}], codec.decode("1,2,3\n"), "as the name twice: the first column counts"
      assert_equal [{"é" => 1, "b" => nil}], codec.decode(codec.encode([{"é" => 1}]))
      codec = Guildhall::CSV.new(headers: [name])
      assert_equal [[{"é" => "1"}], "é"], [codec.decode(codec.encode([{name => 1}])), codec.decode("1\n").first.keys.first]
      assert_equal [{"é" => 1}], Guildhall::CSV.new(converters: {name => :integer}).decode("é\n1\n")
    end
    assert_equal [Encoding::UTF_8], Guildhall::CSV.new(headers: [:a]).decode("1\n").first.keys.map(&:encoding)
  end

  # The expressions are for UTF-8. A text that is in another encoding is no error of Ruby's own.
  def test_a_codec_for_text_that_makes_no_utf8_of_it
    codec = ->(**format) { Guildhall::CSV.new(headers: false, text: Guildhall::Text.new(encoding: :bytes), **format) }
    assert_equal [["\xE9".b, "b"]], codec[].decode("\xE9,b\n")
    {"\xE9,\"b\"\n" => {}, " \xE9\n" => {strip: true, quote_char: nil}, "\xE9,b\n" => {col_sep: "é"}}.each do |text, format|
      error = assert_raises(Guildhall::DecodeError, format.to_s) { codec[**format].decode(text) }
      assert_includes error.message, "ASCII-8BIT"
    end
  end

  # A column that there never is would leave its fields unconverted, without a word.
  # As those of the gem csv: which columns there are, the text says.
  def test_converters_for_columns_that_a_text_does_not_have
    codec = Guildhall::CSV.new(converters: {"id" => :integer, "total" => :decimal})
    assert_equal [[{"id" => 1}], [{"other" => "x"}], []], ["id\n1\n", "other\nx\n", ""].map { |text| codec.decode(text) }
    assert_equal "id\n1\n", codec.encode([{"id" => 1}])
    assert_equal [["a"], ["a", 2]], Guildhall::CSV.new(headers: false, converters: {1 => :integer}).decode("a\na,2\n")
  end

  def test_an_unknown_option_is_answered_with_all_that_there_are
    message = assert_raises(Guildhall::ArgumentError) { Guildhall::CSV.new(nope_nope: 1) }.message
    assert_equal "Guildhall::CSV: unknown option nope_nope; there are headers, symbolize_names, converters, text, max_bytes, max_digits, max_missing, " \
                 "col_sep, row_sep, quote_char, skip_blanks, strip, liberal_parsing", message
    assert_match(/did you mean headers/, assert_raises(Guildhall::ArgumentError) { Guildhall::CSV.new(haeders: false) }.message)
  end

  def test_converters_that_no_column_would_get
    [{converters: {0 => :integer}}, {headers: false, converters: {"id" => :integer}}, {headers: false, converters: {-1 => :integer}},
     {headers: %w[a b], converters: {"c" => :integer}}, {converters: {nil => :integer}}].each do |options|
      error = assert_raises(Guildhall::ArgumentError, options.to_s) { Guildhall::CSV.new(**options) }
      assert_includes error.message, "converters"
    end
    assert_equal [{"a" => 1}], Guildhall::CSV.new(headers: [:a], converters: {"a" => :integer}).decode("1\n")
  end

  def test_names_that_cannot_work
    [{headers: []}, {headers: false, symbolize_names: true}, {symbolize_names: 1}, {text: 3}].each do |options|
      assert_raises(Guildhall::ArgumentError, options.to_s) { Guildhall::CSV.new(**options) }
    end
  end

  def test_reads_what_it_writes_with_separators_of_its_own
    rows = [["a|b", "c"], ["d\ne", "f,g\"h"], ["", " "]]
    [{row_sep: "|"}, {row_sep: "||"}, {row_sep: "\r\n"}, {col_sep: "::"}, {quote_char: "'"}].each do |options|
      codec = Guildhall::CSV.new(headers: false, **options)
      assert_equal rows, codec.decode(codec.encode(rows)), options.to_s
    end
  end

  def test_writes_without_quotes
    codec = Guildhall::CSV.new(quote_char: nil, col_sep: ";")
    assert_equal "a;b\n1;x,\"y\"\n", codec.encode([{"a" => 1, "b" => "x,\"y\""}])
    ["a;b", "a\nb", "a\rb"].each { |field| assert_raises(Guildhall::EncodeError, field) { codec.encode([[field]]) } }
  end

  def test_white_space_is_left_out
    text = " a , \tb\n 1,2 \n \n , x\n"
    [{}, {quote_char: nil}].each do |format|
      assert_equal [{"a" => "1", "b" => "2"}, {"a" => nil, "b" => nil}, {"a" => nil, "b" => "x"}], Guildhall::CSV.new(strip: true, **format).decode(text), format.to_s
    end
    assert_equal [%w[1], %w[é日]], Guildhall::CSV.new(headers: false, strip: true, quote_char: nil, skip_blanks: true).decode(" 1\n \n\té日 ")
  end

  def test_options_are_checked
    assert_raises(Guildhall::ArgumentError) { Guildhall::CSV.new(colsep: ";") }
    assert_raises(Guildhall::ArgumentError) { Guildhall::CSV.new(converters: :money) }
    assert_raises(Guildhall::ArgumentError) { Guildhall::CSV.new(headers: 1) }
    assert_raises(Guildhall::NotShareableError) { Guildhall::CSV.new(converters: Struct.new(:list) { def call(text) = text }.new([])) }
  end

  def test_in_ractors
    codec = Guildhall::CSV.new(converters: {"id" => :integer, "price" => :decimal})
    results = Array.new(3) { Ractor.new(codec, TEXT) { |csv, text| [csv.decode(text), Guildhall::CSV.decode(text).size, csv.encode([[1]])] } }
    results.map { |ractor| ractor_value(ractor) }.each do |rows, size, text|
      assert_equal [codec.decode(TEXT), 2, "1\n"], [rows, size, text]
    end
  end

  # Fibers of several Ractors at once are the end of a Ruby 3.4.
  def test_many_texts_in_ractors
    out = assert_ruby(<<~RUBY)
      require "guildhall/csv"
      Warning[:experimental] = false
      ractors = Array.new(3) { Ractor.new { Array.new(1000) { Guildhall::CSV.decode("a,b\n1,2\n3,4\n").size }.sum } }
      p ractors.map { |ractor| ractor.respond_to?(:value) ? ractor.value : ractor.take }
    RUBY
    assert_equal "[2000, 2000, 2000]\n", out
  end

  def test_encode_writes_what_the_codec_reads
    [Guildhall::Text, Guildhall::Text.new(encoding: "ISO-8859-1"), Guildhall::Text.new(encoding: "UTF-16LE")].each do |text|
      codec = Guildhall::CSV.new(text:)
      assert_equal [{"é" => "ü"}], codec.decode(codec.encode([{"é" => "ü"}]))
    end
    assert_equal "é\n".b, Guildhall::CSV.encode([["é".encode("ISO-8859-1")]]).b
    [{}, {row_sep: "|"}, {row_sep: "|", strip: true}, {quote_char: nil}].each do |format|
      ["\xff", "\xff".b].each { |field| assert_raises(Guildhall::EncodeError) { Guildhall::CSV.new(**format).encode([[field]]) } }
    end
    assert_raises(Guildhall::EncodeError) { Guildhall::CSV.new(text: Guildhall::Text.new(encoding: "ISO-8859-1")).encode([["€"]]) }
  end

  def test_a_missing_gem_is_named
    assert_equal "Guildhall::CSV needs the gem csv: add `gem \"csv\"` to the Gemfile\n", said_without("csv", 'require "guildhall/csv"')
    decimal = 'require "guildhall/csv"; Guildhall::CSV.new(converters: {"amount" => :decimal})'
    assert_equal "the converter :decimal of Guildhall::CSV needs the gem bigdecimal: add `gem \"bigdecimal\"` to the Gemfile\n",
      said_without("bigdecimal", decimal)
  end

  def said_without(gem, code)
    assert_ruby(<<~RUBY)
      module Kernel
        alias_method :found, :require
        def require(name) = name == "#{gem}" ? raise(LoadError.new("cannot load such file -- #{gem}").tap { |error| error.define_singleton_method(:path) { "#{gem}" } }) : found(name)
        private :require
      end
      begin
        #{code}
      rescue Guildhall::MissingDependencyError => error
        puts error.message
      end
    RUBY
  end

  def test_loaded_when_first_named
    assert_equal "[{\"a\" => \"1\"}]\n", assert_ruby('require "guildhall"; p Guildhall::CSV.decode("a\n1\n")')
  end

  def test_max_digits
    codec = Guildhall::CSV.new(converters: {"a" => :integer, "b" => :decimal}, max_digits: 17)
    assert_equal [{"a" => ("9" * 17).to_i, "b" => BigDecimal("1e16")}], codec.decode("a,b\n#{"9" * 17},1e16\n")
    {"#{"9" * 18},1" => "$[0].a", "1,1e17" => "$[0].b", "1,1e-17" => "$[0].b", "1,#{"9" * 18}" => "$[0].b"}.each do |row, path|
      error = assert_raises(Guildhall::DecodeError, row) { codec.decode("a,b\n#{row}\n") }
      assert_equal ["a number that has, written out, more digits than max_digits, 17", path], [error.reason, error.path]
    end
    assert_equal [{"a" => "9" * 20_000}], Guildhall::CSV.decode("a\n#{"9" * 20_000}\n")
    assert_raises(Guildhall::ArgumentError) { Guildhall::CSV.new(max_digits: 16) }
  end

  # A wide header above many rows that are nearly empty would become far more than the text.
  def test_max_missing
    header = Array.new(1_000) { "c#{it}" }.join(",")
    codec = Guildhall::CSV.new(max_missing: 4)
    assert_equal 104, codec.decode("#{header}\n#{"1\n" * 104}").size # 104 × 999 ≤ 100,000 + 4 × (1,000 + 104)
    error = assert_raises(Guildhall::DecodeError) { codec.decode("#{header}\n#{"1\n" * 105}") }
    assert_includes error.message, "max_missing, 4, for each field that is there (the header has 1000)"
    assert_equal 400, Guildhall::CSV.decode("#{header}\n#{"#{"1," * 300}1\n" * 400}").size, "a table of which two thirds are missing"
    assert_equal "a,b,c\n1,,\n,2,\n", codec.encode([{a: 1, b: nil, c: nil}, {b: 2}])
    sparse = ->(rows) { Array.new(rows) { |number| {number => 1} } }
    assert_equal 301, codec.encode(sparse[300]).lines.size
    assert_includes assert_raises(Guildhall::EncodeError) { codec.encode(sparse[400]) }.message, "max_missing, 4, for each field that is there (together"
    assert_raises(Guildhall::ArgumentError) { Guildhall::CSV.new(max_missing: -1) }
  end

  def test_a_name_that_is_there_twice
    assert_equal [{"a" => "1", "b" => "2"}], Guildhall::CSV.decode("a,b,a\n1,2,3\n")
  end
end
