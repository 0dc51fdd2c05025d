# frozen_string_literal: true

require "bigdecimal"
require "guildhall/csv"
require "guildhall/json"
require "guildhall/msgpack"
require "guildhall/yaml"

# Random values and codecs: whatever a codec writes, it reads as the same, or it refuses to write it. A source has `codec(random)`, which
# returns nil where the options do not go together, `value(random, codec)`, and `expected(value, codec)`: the value after the documented mapping,
# made without the codec. Results are compared by {.same?}.
module RoundTrips
  # What a run found.
  Found = Data.define(:same, :refused, :faults)

  class << self
    # @param source [#codec, #value, #expected]
    # @param seed [Integer]
    # @param count [Integer] of values
    # @yieldparam task [#call] for `[codec, value]`; returns what {.trip} does. By default it is called here
    # @return [Found]
    def run(source, seed:, count:)
      random = Random.new(seed)
      pairs = Array.new(count) { pair(source, random) }
      results = block_given? ? yield(pairs) : pairs.map { |codec, value| trip(codec, value) }
      judge(source, pairs, results)
    end

    # @return [Array] (:refused), (:read, value, text) or (:fault, message, text)
    def trip(codec, value)
      text = codec.encode(value)
    rescue Guildhall::EncodeError
      [:refused]
    rescue StandardError => error
      [:fault, "#{error.class}: #{error.message}", nil]
    else
      begin
        [:read, codec.decode(text), text]
      rescue StandardError => error
        [:fault, "#{error.class}: #{error.message}", text]
      end
    end

    # @param chances [Hash{Symbol=>Array}] the values of each option
    # @param one_in [Integer] how often one is given; seldom those that most values are refused with
    # @return [Hash{Symbol=>Object}]
    def options(random, chances, one_in)
      chances.filter_map do |name, values|
        seldom = name == :converters || name.start_with?("max")
        [name, values.sample(random:)] if random.rand(seldom ? 12 : one_in).zero?
      end.to_h
    end

    # As `eql?`, and for numbers that are none, and with the keys of Hashes in order.
    def same?(one, other)
      case one
      when Array then other.instance_of?(Array) && one.size == other.size && one.zip(other).all? { |a, b| same?(a, b) }
      when Hash then other.instance_of?(Hash) && same?(one.to_a, other.to_a)
      when Float then other.is_a?(Float) && (one.nan? ? other.nan? : one.eql?(other) && 1 / one == 1 / other)
      when String then one.eql?(other) && one.encoding == other.encoding
      when YAML::Opaque then other.is_a?(YAML::Opaque)
      when BigDecimal then other.is_a?(BigDecimal) && (one.nan? ? other.nan? : one == other)
      else one.eql?(other) || (one.instance_of?(other.class) && one == other)
      end
    end

    private

    def pair(source, random)
      codec = nil
      codec = source.codec(random) until codec
      Ractor.make_shareable([codec, source.value(random, codec)])
    end

    def judge(source, pairs, results)
      faults = []
      pairs.zip(results) do |(codec, value), (kind, read, text)|
        next if kind == :refused || (kind == :read && same?(source.expected(value, codec), read))

        faults << [source.describe(codec), value, text, read]
      end
      Found.new(same: results.count { |kind,| kind == :read } - faults.size, refused: results.count([:refused]), faults:)
    end
  end

  # {.trip} as a task.
  module Trip
    def self.call((codec, value)) = Ractor.make_shareable(RoundTrips.trip(codec, value))
  end

  # A codec with the options that it was made with.
  Chosen = Data.define(:options, :codec) do
    def encode(value) = codec.encode(value)
    def decode(text) = codec.decode(text)

    # @return [Chosen, nil] nil for options that are refused
    def self.of(codec_class, options, *arguments)
      Ractor.make_shareable(new(Ractor.make_shareable(options), codec_class.new(*arguments, **options)))
    rescue Guildhall::ArgumentError
      nil
    end
  end

  # Texts of few characters, so that what is special meets often.
  module Texts
    CHARACTERS = ["a", "b", "q", " ", " ", "\t", "\v", "\0", ",", ";", "|", ":", "-", "#", "\"", "'", "\n", "\r", "\r\n", "\\", "é", "\uFEFF", "1", "0", "\u0085", "\u00a0",
                  "\u2028", "\u{1F600}", "\e", "<", "=", "&", "*", "!", "%", "@", "`", "{", "]", "?", ".", "~", "n", "\x7f"].freeze
    ODD = ["\xff", "\xff".b, "é".encode("ISO-8859-1"), "aé".encode("UTF-16LE"), "é".b, "a".encode("US-ASCII"), "\xD8\x00".dup.force_encoding("UTF-16BE"),
           "\x81".dup.force_encoding("Windows-1252")].freeze

    module_function

    def of(random, most = 4) = random.rand(40).zero? ? ODD.sample(random:) : Array.new(random.rand(0..most)) { CHARACTERS.sample(random:) }.join

    # @return [String, nil] in UTF-8; nil where there is none
    def utf8(text)
      text.encode(Encoding::UTF_8) if text.valid_encoding?
    rescue EncodingError
      nil
    end
  end

  # Tables.
  module CSV
    OPTIONS = {
      col_sep: [";", "\t", "::", "|", " ", "ab", "aa"], row_sep: ["|", "\r\n", "\r", "\n", "||", ";\n", "ba", "\n\n", :auto], quote_char: ["'", nil, "q", " "],
      skip_blanks: [true], strip: [true], liberal_parsing: [true], symbolize_names: [true], headers: [false, false, %w[a b], ["a", "", "b", "a"]],
      text: [Guildhall::Text.new(encoding: "UTF-16LE"), Guildhall::Text.new(encoding: "UTF-16"), Guildhall::Text.new(encoding: "ISO-8859-1"), Guildhall::Text.new(bom: false)],
      converters: %i[integer float boolean date time decimal], max_bytes: [12]
    }.freeze
    private_constant :OPTIONS

    class << self
      def codec(random)
        options = RoundTrips.options(random, OPTIONS, 4)
        Chosen.of(Guildhall::CSV, options)
      end

      def value(random, chosen)
        headers = chosen.options.fetch(:headers, true)
        return Array.new(random.rand(4)) { Array.new(random.rand(4)) { field(random) } } unless headers

        names = (headers.is_a?(Array) ? [*headers, *headers, nil] : Array.new(3) { Texts.of(random, 2) }) + [nil, :b]
        Array.new(random.rand(4)) { Array.new(random.rand(4)) { [names.sample(random:), field(random)] }.to_h }
      end

      def expected(rows, chosen)
        headers = chosen.options.fetch(:headers, true)
        return rows.map { |row| fields(row, chosen) } unless headers

        names = headers.is_a?(Array) ? headers.uniq : rows.flat_map(&:keys).uniq
        rows.map { |row| hash(row, names, chosen) }
      end

      def describe(chosen) = chosen.options.inspect

      private

      # A row of one nil is an empty line.
      def fields(row, chosen)
        fields = row.map { |value| read(value, chosen) }
        fields == [nil] ? [] : fields
      end

      def hash(row, names, chosen)
        given = row.transform_keys { |key| key&.to_s }
        named = names.to_h { |name| [key(name, chosen), read(given[name&.to_s], chosen)] }
        named[nil] = read(row[nil], chosen) if row.key?(nil) && !names.include?(nil)
        named
      end

      def key(name, chosen)
        name = name&.to_s
        name = nil if bare?(chosen) && name == "" && chosen.options.fetch(:headers, true) == true
        name = Texts.utf8(name) if name
        chosen.options[:symbolize_names] ? name&.to_sym : name
      end

      def bare?(chosen) = chosen.options.key?(:quote_char) && chosen.options[:quote_char].nil?

      def field(random)
        return Texts.of(random) unless random.rand(3).zero?

        [nil, nil, 1, 1.5, -2.0e30, :"a b", :a, true, false, "yes", "2026-03-01", Date.new(2026, 3, 1), Time.at(1, 5, :nsec, in: "+01:00"), Time.at(3, in: "UTC"),
         BigDecimal("1.25"), Rational(1, 2), Float::NAN, "12", DateTime.new(2026, 3, 1, 4), 10**30].sample(random:)
      end

      def read(value, chosen)
        return if value.nil? || (bare?(chosen) && value == "")

        type = chosen.options[:converters]
        text = Texts.utf8(value.to_s)
        return text unless type

        typed(type, value, text)
      end

      def typed(type, value, text)
        case type
        when :integer then Integer(text, 10)
        when :float then value.is_a?(Numeric) ? value.to_f : Float(text)
        when :decimal then BigDecimal(text)
        when :boolean then text.match?(/\A(?:true|t|yes|1)\z/i)
        when :date then value.is_a?(Date) ? value.to_date : Date.iso8601(text)
        when :time then value.is_a?(String) ? Time.iso8601(text) : value.to_time
        end
      end
    end
  end

  # Nested data of every kind.
  module Nested
    # What some tool, some version of YAML or Psych takes for something else.
    LIKE_OTHERS = ["2016-09-31", "0000-00-00", "2016-09-30", "2016-09-31 25:00:00", "2001-12-14t21:59:43.10-05:00", "2026-03-01T10:00:00Z", "1:30", "190:20:30", "190:20:30.15",
                   "0o17", "017", "089", "0x1F", "0b1", "1_000", "1,000", "1e3", "1.e+3", ".5", "5.", "+1", "-1", "-0", ".inf", "-.INF", "+.inf", ".nan", ".", "-", "+", "...",
                   "---", "--- a", "y", "N", "yes", "No", "ON", "off", "TRUE", "false", "null", "Null", "~", "", "<<", "=", "<", "!", "!a", "*a", "&a", "- a", "? a", ": a",
                   "a: b", "a #b", "#a", ":a", ":a b", ":\"a\"", "::", "a:", "%TAG", "@a", "`a", "[a", "{a", "]", "}", "|", ">", "'", "\"", "a\nb", "a\nb\n", "a\n\nb\n\n",
                   "\na", " a\nb", "a\n b", "a \nb", "a\r\nb", "\n", "\n\n", "a\n#b", "- a\n- b", "\tb", "b\t", "a\tb", "NaN", "Infinity", "x" * 90, "w " * 60, "w\n" * 40,
                   "\\u0041", "\u2028", "\u0085", "\uFEFF", "\u0000", "\x7f", "\u{1F600}", "!ruby/object:Object {}", "!!str a", "$", "1 2", "12 apples", "10.0.0.1"].freeze
    NUMBERS = [0, 1, -1, 127, 128, -33, 255, 65_536, 2**31, -(2**31), 2**53 + 1, 2**63, -(2**63), 2**64 - 1, 2**64, -(2**63) - 1, 10**16, 10**17, -(10**17), 10**40, 0.0, -0.0, 1.5, 1e20, 1e-5, 1e300,
               5e-324, 0.1, 123_456_789.123, Float::MAX, Float::INFINITY, -Float::INFINITY, Float::NAN].freeze
    WORDS = [nil, true, false].freeze

    module_function

    def of(random, special, levels = 3)
      case random.rand(levels.positive? ? 12 : 8)
      when 0..2 then Texts.of(random, 6)
      when 3, 4 then LIKE_OTHERS.sample(random:)
      when 5 then NUMBERS.sample(random:)
      when 6 then WORDS.sample(random:)
      when 7 then random.rand(3).zero? ? special.sample(random:) : [:a, :"b c", :yes, :"2016-09-31", :é, :""].sample(random:)
      when 8, 9 then Array.new(random.rand(4)) { of(random, special, levels - 1) }
      else Array.new(random.rand(4)) { [key(random, special, levels), of(random, special, levels - 1)] }.to_h
      end
    end

    def key(random, special, levels)
      random.rand(3).zero? ? of(random, special, levels - 2) : ["a", "b", :b, :"c d", *LIKE_OTHERS.sample(3, random:)].sample(random:)
    end

    # @yieldparam object [Object] no Array and no Hash
    # @yieldparam key [Boolean] whether it is the key of a Hash
    # @return [Object] all of it with the scalars that the block returns
    def map(object, key: false, &block)
      case object
      when Array then object.map { |element| map(element, &block) }
      when Hash then object.to_h { |name, value| [map(name, key: true, &block), map(value, &block)] }
      else yield object, key
      end
    end
  end

  # Documents of YAML.
  module YAML
    Point = Struct.new(:x, :y)
    Opaque = Class.new
    SPECIAL = [Date.new(2026, 3, 1), DateTime.new(2026, 3, 1, 4, 5, 6), Time.at(1, 5, :nsec, in: "+01:00"), Time.utc(2026, 3, 1), Point.new(1, :a), Point.new(Date.new(1, 1, 1), [1]),
               Set[1, 2], BigDecimal("1.25"), BigDecimal("NaN"), Rational(1, 3), Complex(1, 2), (1..3), /a/i, Opaque.new, Object, Time.at(Rational(1, 3)), Date.new(-5, 1, 1), 1.0...2,
               Time.utc(12_026), Date.new(10_000, 1, 1), Exception.new("a")].freeze
    OPTIONS = {
      permitted_classes: [[Symbol], [Symbol, Date], [Date, Time], [Date, DateTime, Time, Point, Set, BigDecimal, Rational, Complex, Range, Regexp, Opaque, Object, Exception, Symbol]],
      permitted_symbols: [%i[a yes]], symbolize_names: [true], aliases: [true], max_nesting: [2], max_bytes: [30], max_digits: [17]
    }.freeze
    private_constant :SPECIAL, :OPTIONS

    class << self
      def codec(random)
        options = RoundTrips.options(random, OPTIONS, 4)
        Chosen.of(Guildhall::YAML, options)
      end

      def value(random, _chosen)
        value = Nested.of(random, SPECIAL)
        random.rand(5).zero? ? [value, {"a" => value}, value] : value
      end

      def expected(value, chosen)
        Nested.map(value) do |object, key|
          object = text(object, chosen) if object.is_a?(String) || object.is_a?(Symbol)
          object = object.floor(9) if object.is_a?(Time)
          key && object.is_a?(String) && chosen.options[:symbolize_names] ? object.to_sym : object
        end
      end

      def describe(chosen) = chosen.options.inspect

      private

      def text(object, chosen)
        return object if object.is_a?(Symbol) && chosen.options[:permitted_classes]&.include?(Symbol)

        object = object.name if object.is_a?(Symbol)
        object.encoding == Encoding::BINARY && !object.ascii_only? ? object : Texts.utf8(object)
      end
    end
  end

  # JSON, also with an id of a schema before it.
  module JSON
    Raw = Struct.new(:text) { def to_json(*) = text }
    Named = Struct.new(:name) { def to_s = name }
    Documents = Guildhall::JSON.new(max_nesting: 200, allow_nan: true)
    SPECIAL = [Raw.new("[1]"), Raw.new("[1"), Raw.new(""), Raw.new("[[[[[1]]]]]"), Raw.new("NaN"), Raw.new("{\"a\":1,\"a\":2}"), Raw.new("1 2"), Raw.new("\xff"), Named.new("é"), Named.new("\xff"),
               Date.new(2026, 3, 1), Time.utc(2026), BigDecimal("1.25"), BigDecimal("1e30"), BigDecimal("NaN"), Rational(1, 4), Rational(1, 3), Rational(-1, 5), 1i, :sym,
               Documents.document("{\"a\":[1,{\"b\":null}]}"), Documents.document("#{"[" * 120}1#{"]" * 120}"), Documents.document("[NaN]"), Documents.document("[[[1e40]]]"),
               Documents.document("[#{"9" * 30}]")].freeze
    OPTIONS = {
      symbolize_names: [true], decimal_class: [BigDecimal, Rational], allow_nan: [true], allow_duplicate_key: [true], allow_invalid_utf8: [true], allow_trailing_comma: [true],
      max_nesting: [2, 5], max_bytes: [30], max_digits: [17]
    }.freeze
    private_constant :Documents, :SPECIAL, :OPTIONS

    class << self
      def codec(random)
        options = RoundTrips.options(random, OPTIONS, 6)
        Chosen.of(Guildhall::JSON, options)
      end

      def value(random, _chosen) = Nested.of(random, SPECIAL)

      def expected(value, chosen)
        case value
        when Hash
          value.to_h { |key, element| [chosen.options[:symbolize_names] ? text(key.to_s).to_sym : text(key.to_s), expected(element, chosen)] }
        when Array then value.map { |element| expected(element, chosen) }
        when Raw, Guildhall::Document then chosen.options[:symbolize_names] ? symbolized(read(value, chosen)) : read(value, chosen)
        else read(value, chosen)
        end
      end

      def describe(chosen) = chosen.options.inspect

      private

      def symbolized(object)
        case object
        when Hash then object.to_h { |name, value| [name.to_s.to_sym, symbolized(value)] }
        when Array then object.map { |element| symbolized(element) }
        else object
        end
      end

      def read(object, chosen)
        decimal = chosen.options[:decimal_class]
        case object
        when nil, true, false, Integer then object
        when Float then decimal && object.finite? ? Kernel.public_send(decimal.name, object.to_s) : object
        when Raw then raw(object.text, chosen)
        when Guildhall::Document then lenient(chosen).decode(object.source)
        when decimal || Raw then object.respond_to?(:finite?) && !object.finite? ? text(object.to_s) : object
        else text(object.to_s)
        end
      end

      def raw(text, chosen)
        lenient(chosen).decode(text)
      rescue Guildhall::DecodeError
        :refused
      end

      # What others have written is read as it is.
      def lenient(chosen) = Guildhall::JSON.new(max_nesting: 1_000, allow_nan: true, allow_duplicate_key: true, **chosen.options.slice(:decimal_class))

      def text(text) = Texts.utf8(text) || text
    end
  end

  # MessagePack, with types of its own.
  module MessagePack
    Money = Data.define(:cents)
    Extension = Guildhall::MessagePack::Extension
    SPECIAL = [Time.at(1, 5, :nsec), Time.at(2**33), Time.at(-5, 7, :nsec), Time.utc(10**12), Time.at(Rational(1, 3)), Time.utc(2500), Money.new(5), Extension.new(1, "a".b), Extension.new(7, "".b),
               Extension.new(-1, "abcd".b), Extension.new(-1, "abc".b), Extension.new(-1, "\xff\xff\xff\xffabcd".b), Extension.new(-128, "x".b * 300), Date.new(2026, 1, 1), 1r,
               Guildhall::JSON.document("{\"a\":[1]}"), Guildhall::MessagePack.document("\x81\xA1a\x01".b), Object.new.freeze, [:a], ["a"], ["é"], ["é".encode("ISO-8859-1")]].freeze
    PACK = ->(money) { money.cents.to_s }
    UNPACK = ->(bytes) { Money.new(Integer(bytes, exception: false) || -1) }
    TYPES = [Guildhall::MessagePack::ExtensionType.new(1, for: Money, pack: PACK, unpack: UNPACK)].freeze
    OPTIONS = {symbolize_names: [true], types: [TYPES], allow_unknown_ext: [true], allow_invalid_utf8: [false], max_nesting: [2], max_bytes: [30]}.freeze
    private_constant :SPECIAL, :PACK, :UNPACK, :TYPES, :OPTIONS

    class << self
      def codec(random)
        options = RoundTrips.options(random, OPTIONS, 3)
        Chosen.of(Guildhall::MessagePack, options)
      end

      def value(random, _chosen) = Nested.of(random, SPECIAL)

      def expected(value, chosen)
        Nested.map(value) do |object, key|
          object = read(object, chosen)
          key && object.is_a?(String) && chosen.options[:symbolize_names] ? object.to_sym : object
        end
      end

      def describe(chosen) = chosen.options.inspect

      private

      def read(object, chosen)
        case object
        when Symbol then text(object.name)
        when String then text(object)
        when Time then object.floor(9)
        when Guildhall::Document then expected(object.decode, chosen)
        when Extension then extension(object, chosen)
        else object
        end
      end

      def text(text)
        return text if text.encoding == Encoding::BINARY && !text.ascii_only?

        Texts.utf8(text) || text
      end

      def extension(extension, chosen)
        return Time.at(extension.payload.unpack1("L>")) if extension.type == -1
        return UNPACK.call(extension.payload) if extension.type == 1 && chosen.options[:types]

        extension
      end
    end
  end

  SOURCES = [CSV, YAML, JSON, MessagePack].freeze
end
