# frozen_string_literal: true

require "json"
require_relative "../../tool/environment"

# JSON texts to measure with: orders of several sizes, real webhooks, and shapes that are hard on a parser. The same
# ones in every run.
class Corpus
  WORDS = %w[amber basin cedar delta ember fjord grove haven inlet jetty knoll ledge marsh north ocean plain quarry
             ridge slope tundra].freeze
  LEXICON = 5000 # words that fresh texts are made of
  SYLLABLES = %w[ba ce di fo gu ha je ki lo mu na pe qui ro su ta ve wi xo zu].freeze
  FRESH_SIZES = {"0.5 KB" => 500, "5 KB" => 5_000, "19 KB" => 19_000, "78 KB" => 78_000}.freeze
  SIZES = {"0.7 KB" => 620, "5 KB" => 5_000, "19 KB" => 19_000, "78 KB" => 78_000}.freeze
  NASTY = %i[unique_keys floats utf8_text long_strings integers deep].freeze

  # @param bytes [Integer] how much of each kind, at least one text
  def initialize(bytes: 2_000_000, seed: 20_260_101)
    @bytes = bytes
    @random = Random.new(seed)
  end

  # @param size [Integer] bytes of each, about
  # @return [Array<String>] frozen, each different
  def orders(size)
    many(size) { JSON.generate(order(size)) }
  end

  # The same kind of texts with values that never come again, as ids, addresses, times and prices do not: what a cache of
  # values costs where it finds nothing.
  # @param size [Integer] bytes of each, about
  # @return [Array<String>] frozen, each different
  def fresh(size)
    lexicon
    many(size, most: 4000) { JSON.generate(fresh_order(size)) }
  end

  # @param kind [Symbol] one of NASTY
  # @return [Array<String>]
  def nasty(kind)
    many(5_000) { JSON.generate(send(kind)) }
  end

  # @return [Array<String>] the real deliveries, as they would travel
  def webhooks = deliveries.map { |delivery| JSON.generate(delivery).freeze }

  # @return [Array<String>] the same for people: a third of it is blanks
  def pretty = deliveries.map { |delivery| JSON.pretty_generate(delivery).freeze }

  # @return [Array<String>] the schemas of the deliveries' parts, as the API publishes them: hardly a key comes twice in a text
  def schemas
    path = File.join(Environment::WEBHOOKS, "webhooks-schemas", "schema.json")
    JSON.parse(File.read(path, encoding: "UTF-8")).fetch("definitions").map { |_, schema| JSON.generate(schema).freeze }
  end

  private

  def deliveries
    path = File.join(Environment::WEBHOOKS, "webhooks-examples", "api.github.com", "index.json")
    @deliveries ||= JSON.parse(File.read(path, encoding: "UTF-8")).flat_map { |event| event["examples"] }
  end

  def many(size, most: 400)
    Array.new((@bytes / size).clamp(3, most)) { yield.freeze }
  end

  def words(count) = Array.new(count) { pick(WORDS) }.join(" ")
  def pick(list) = list[@random.rand(list.size)]

  def order(size)
    made = {"id" => @random.rand(10**9), "type" => pick(%w[order.created order.paid order.shipped]),
            "ts" => format("2026-05-%02dT%02d:%02d:%02dZ", @random.rand(1..28), @random.rand(24), @random.rand(60), @random.rand(60)),
            "user" => user, "currency" => pick(%w[EUR USD GBP]), "items" => []}
    length = JSON.generate(made).bytesize
    while length < size
      made["items"] << (item = self.item)
      length += JSON.generate(item).bytesize + 1
    end
    made
  end

  def user
    {"id" => @random.rand(10**6), "name" => words(2), "email" => "user#{@random.rand(10**6)}@example.com",
     "tags" => Array.new(3) { pick(WORDS) }}
  end

  def item
    {"sku" => "SKU-#{@random.rand(10**7)}", "qty" => @random.rand(20), "price" => @random.rand(100_000) / 100.0,
     "desc" => "item #{@random.rand(10**6)} #{words(5)}", "flags" => [@random.rand(2) == 1, @random.rand(2) == 1, nil],
     "attrs" => {"color" => pick(%w[red green blue black]), "size" => @random.rand(50)}}
  end

  def lexicon = @lexicon ||= Array.new(LEXICON) { Array.new(@random.rand(2..5)) { pick(SYLLABLES) }.join }
  def fresh_words(count) = Array.new(count) { pick(lexicon) }.join(" ")
  def fresh_time = Time.at(1_780_000_000 + @random.rand(10_000_000), @random.rand(1_000_000)).utc.strftime("%FT%T.%6NZ")

  def fresh_order(size)
    made = {"id" => @random.rand(10**15), "type" => pick(%w[order.created order.paid order.shipped]), "ts" => fresh_time,
            "user" => fresh_user, "currency" => pick(%w[EUR USD GBP]), "items" => []}
    length = JSON.generate(made).bytesize
    while length < size
      made["items"] << (item = fresh_item)
      length += JSON.generate(item).bytesize + 1
    end
    made
  end

  def fresh_user
    {"id" => @random.rand(10**12), "name" => fresh_words(2), "email" => "#{pick(lexicon)}.#{@random.rand(10**7)}@#{pick(lexicon)}.example",
     "tags" => Array.new(3) { pick(lexicon) }}
  end

  def fresh_item
    {"sku" => "SKU-#{@random.rand(10**12)}", "qty" => @random.rand(20), "price" => @random.rand(10_000_000) / 100.0,
     "desc" => "item #{@random.rand(10**9)} #{fresh_words(5)}", "flags" => [@random.rand(2) == 1, @random.rand(2) == 1, nil],
     "attrs" => {"color" => pick(lexicon), "size" => @random.rand(10**6)}}
  end

  def unique_keys
    Array.new(28) { Array.new(6) { |index| ["k#{@random.rand(10**9)}_#{index}", [@random.rand(10**6), words(2)][index % 2]] }.to_h }
  end

  def floats = Array.new(260) { @random.rand }
  def integers = Array.new(700) { |index| @random.rand(10**(1 + index % 9)) }
  def long_strings = Array.new(4) { words(210) }
  def utf8_text = Array.new(24) { Array.new(20) { pick(%w[größe élève 東京都 привет naïve 価格 ελλάδα smörgåsbord emoji😀]) }.join(" ") }

  # Up to the nesting that both accept by default, again and again.
  def deep
    Array.new(10) { (1..96).reduce(@random.rand(100)) { |inner, level| level.odd? ? [inner] : {"n" => inner} } }
  end
end
