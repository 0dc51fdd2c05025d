# frozen_string_literal: true

module Cost
  # Payloads that somebody might write who wants to keep us busy: each of a number of units.
  module Documents
    DEPTH = 90 # below every default of max_nesting
    LEVEL = ["[%s]", "{\"a\":%s}", "{\"a\":1,\"b\":%s}", "[1,%s]", "[%s,1]"].freeze

    # JSON that every codec takes.
    JSON = {
      "integers" => ->(n) { list(n) { |i| i } },
      "pairs of integers" => ->(n) { list(n) { |i| "[#{i},#{i}]" } },
      "objects of one integer" => ->(n) { list(n) { |i| "{\"a\":#{i}}" } },
      "empty containers" => ->(n) { list(n) { |i| %w[[] {} [[]] [{}]][i % 4] } },
      "literals" => ->(n) { list(n) { |i| %w[true false null][i % 3] } },
      "pairs far behind a string" => ->(n) { "[\"x\",#{list(n) { "[]" }}]" },
      "pairs in pairs" => ->(n) { "[#{list(n) { |i| "[[#{i},[#{i}]]]" }},#{list(n) { "[1]" }}]" },
      "short strings" => ->(n) { list(n) { |i| "\"s#{i}\"" } },
      "equal strings" => ->(n) { list(n) { "\"the same\"" } },
      "one long string" => ->(n) { list(1) { "\"#{"x" * n * 10}\"" } },
      "long strings alike but for the end" => ->(n) { list(n / 50) { |i| "\"#{"x" * 400}#{i}\"" } },
      "escapes" => ->(n) { list(1) { "\"#{"\\u00e9\\n\\\"\\ud83d\\ude00" * n}\"" } },
      "short strings with escapes" => ->(n) { list(n) { |i| "\"\\t#{i}\"" } },
      "umlauts" => ->(n) { list(n) { |i| "\"ä#{i}ö\"" } },
      "decimals" => ->(n) { list(n) { |i| "#{i}.25" } },
      "exponents" => ->(n) { list(n) { |i| "1e#{i % 600}" } },
      "negative exponents" => ->(n) { list(n) { |i| "1.5e-#{i % 600}" } },
      "decimals of 700 digits" => ->(n) { list(n / 50) { |i| "0.#{"7" * 700}#{i}" } },
      "one long decimal" => ->(n) { list(1) { "0.#{"123456789" * n}" } },
      "halves between two floats" => ->(n) { list(n / 50) { |i| "9007199254740993.#{"0" * 400}#{i % 10}" } },
      "integers of 19 digits" => ->(n) { list(n) { |i| "9223372036854#{i + 1_000_000}" } },
      "integers of 300 digits" => ->(n) { list(n / 20) { |i| "#{"7" * 300}#{i}" } },
      "integers of 5000 digits" => ->(n) { list(n / 100) { |i| "#{"9" * 5_000}#{i}" } },
      "one wide object" => ->(n) { object(n) { |i| ["k#{i}", i] } },
      "a wide object of objects" => ->(n) { object(n) { |i| ["k#{i}", "{\"k#{i}\":#{i}}"] } },
      "wide objects" => ->(n) { list(n / 40) { |i| object(40) { |j| ["k#{i}_#{j}", j] } } },
      "keys alike at both ends" => ->(n) { list(n / 40) { |i| object(120) { |j| ["the key #{i} #{j + 100} of all", j] } } },
      "long keys alike but for the middle" => ->(n) { list((n / 100) + 1) { |i| object(100) { |j| ["#{"x" * 30}#{j + (100 * i) + 1_000_000}#{"x" * 30}", j] } } },
      "keys with escapes" => ->(n) { object(n) { |i| ["\\u006b#{i}", i] } },
      "long keys with escapes" => ->(n) { object(n / 2) { |i| ["#{"\\u006b" * 5}#{i}", i] } },
      "equal objects" => ->(n) { list(n) { "{\"id\":1,\"name\":\"a\"}" } },
      "objects of other keys" => ->(n) { list(n) { |i| "{\"a#{i}\":1,\"b#{i}\":2}" } },
      "objects of one other key in the middle" => ->(n) { list(n) { |i| "{\"a\":1,\"b#{i}\":2,\"c\":3}" } },
      "white space" => ->(n) { "[#{Array.new(n) { |i| " \n\t [ #{i} , #{i} ] \r\n" }.join(" , ")}]" },
      "much white space at once" => ->(n) { "[#{" " * n * 10}#{Array.new(n) { "[]" }.join(",")}]" },
      "nested arrays" => ->(n) { list((n / DEPTH) + 1) { nested(DEPTH, "[%s]") } },
      "nested objects" => ->(n) { list((n / DEPTH) + 1) { nested(DEPTH, "{\"a\":%s}") } },
      "nested, wide" => ->(n) { list((n / DEPTH) + 1) { nested(DEPTH, "[1,{\"a\":2},%s]") } },
      "one deep array" => ->(n) { nested(n, "[%s]") },
      "one deep object" => ->(n) { nested(n, "{\"a\":1,\"b\":%s}") },
      "one deep mixture" => ->(n) { nested(n, "{\"a\":[1,%s,{}]}") }
    }.freeze

    # JSON with keys that occur more than once.
    REPEATED = {
      "a repeated key in each object" => ->(n) { list(n) { |i| "{\"a\":1,\"a\":#{i}}" } },
      "one key, again and again" => ->(n) { "{#{Array.new(n) { |i| "\"a\":#{i}" }.join(",")}}" },
      "each key twice" => ->(n) { "{#{Array.new(n) { |i| "\"k#{i / 2}\":[#{i}]" }.join(",")}}" },
      "keys repeated in what is repeated" => ->(n) { list((n / DEPTH) + 1) { nested(DEPTH, "{\"a\":1,\"a\":%s,\"b\":0}") } },
      "keys repeated at every level" => ->(n) { nested(n, "{\"a\":1,\"b\":2,\"a\":%s}") },
      "dropped values" => ->(n) { list(n) { "{\"a\":[{\"b\":1,\"b\":2}],\"a\":0}" } },
      "repeated keys with escapes" => ->(n) { list(n) { "{\"a\":1,\"\\u0061\":2}" } }
    }.freeze

    # What is no JSON, or not all of it.
    BROKEN = {
      "open arrays" => ->(n) { "[" * n },
      "open objects" => ->(n) { "{\"a\":" * n },
      "an open string" => ->(n) { "[\"#{"x" * n * 10}" },
      "an open string of escapes" => ->(n) { "[\"#{"\\n" * n * 5}" },
      "an error at the end" => ->(n) { "#{list(n) { |i| "{\"k#{i}\":[#{i}]}" }}x" },
      "an error deep inside" => ->(n) { "#{"[1,{\"a\":" * n}x" },
      "a repeated key at the end" => ->(n) { "{#{Array.new(n) { |i| "\"k#{i}\":#{i}," }.join}\"k0\":1}" },
      "a wrong byte at the end" => ->(n) { "[\"#{"ä" * n}\",\"\xFF\"]" },
      "lines" => ->(n) { "#{"[1,\n" * n}x" },
      "too many digits" => ->(n) { list(1) { "1" * (n * 1_000) } },
      "only white space" => ->(n) { " " * n * 10 }
    }.freeze

    # Objects for the codecs that are given Ruby objects to encode.
    VALUES = {
      "integers" => ->(n) { Array.new(n) { |i| i * i } },
      "pairs" => ->(n) { Array.new(n) { |i| [i, i] } },
      "texts" => ->(n) { Array.new(n) { |i| "text #{i}" } },
      "one long text" => ->(n) { ["x" * (n * 10)] },
      "umlauts" => ->(n) { Array.new(n) { |i| "ä#{i}" } },
      "floats" => ->(n) { Array.new(n) { |i| i + 0.5 } },
      "nothing" => ->(n) { Array.new(n) { |i| [nil, true, false, [], {}][i % 5] } },
      "one wide map" => ->(n) { Array.new(n) { |i| ["k#{i}", i] }.to_h },
      "a wide map of deep arrays" => ->(n) { Array.new((n / 20) + 1) { |i| ["k#{i}", (1..40).reduce(i) { |inner, _| [inner] }] }.to_h },
      "wide maps" => ->(n) { Array.new(n / 40) { |i| Array.new(40) { |j| ["k#{i}_#{j}", j] }.to_h } },
      "long keys alike" => ->(n) { Array.new(n / 40) { |i| ["#{"x" * 300}#{i}", i] }.to_h },
      "small maps" => ->(n) { Array.new(n) { |i| {"id" => i, "name" => "n"} } },
      "maps of other keys" => ->(n) { Array.new(n) { |i| {"a#{i}" => i} } },
      "nested arrays" => ->(n) { Array.new((n / DEPTH) + 1) { (1..DEPTH).reduce(1) { |inner, _| [inner] } } },
      "nested pairs" => ->(n) { Array.new((n / DEPTH) + 1) { (1..DEPTH).reduce(1) { |inner, _| [inner, 1] } } },
      "nested maps" => ->(n) { Array.new((n / DEPTH) + 1) { (1..DEPTH).reduce(1) { |inner, _| {"a" => 1, "b" => inner} } } }
    }.freeze

    # Compositions of all of this, for long runs.
    # @param random [Random]
    # @return [Proc] a document of n units
    def self.random(random)
      parts = JSON.values.sample(random.rand(1..3), random:)
      levels = Array.new(random.rand(0..3)) { LEVEL.sample(random:) }
      wide = random.rand(2).zero?
      lambda do |n|
        inner = parts.map { |part| part.call((n / parts.size) + 1) }
        text = wide ? "[#{inner.join(",")}]" : "{#{inner.each_with_index.map { |part, index| "\"p#{index}\":#{part}" }.join(",")}}"
        levels.reduce(text) { |whole, level| level.sub("%s") { whole } }
      end
    end

    def self.list(count, &) = "[#{Array.new(count, &).join(",")}]"

    # @yieldreturn [Array(String, Object)] a key and its value
    def self.object(count)
      pairs = Array.new(count) do |i|
        key, value = yield(i)
        "\"#{key}\":#{value}"
      end
      "{#{pairs.join(",")}}"
    end

    def self.nested(depth, level)
      before, after = level.split("%s")
      "#{before * depth}1#{after * depth}"
    end
  end
end
