# frozen_string_literal: true

# JSON beside the json gem: Documents of which five fields are read, and frozen Hashes. Both of the gem's versions that
# people run: the newest (which has the goals), and the one that comes with this Ruby (in a process of its own). For
# five fields also beside oj and simdjson. At last the memory that Documents take.

require "open3"
require "rbconfig"
require "guildhall/json"
require_relative "support/bench"
require_relative "support/json_memory"
require_relative "support/json_peers"
require_relative "data/corpus"

# What each row does, over all texts of a corpus.
class JSONRows
  CODEC = Guildhall::JSON
  SYMBOLS = CODEC.new(symbolize_names: true)
  DOCUMENT_GOALS = {"0.7 KB" => 2.5, "5 KB" => 4.0, "19 KB" => 4.2, "78 KB" => 4.2, "webhooks" => 6.5}.freeze
  EAGER_GOALS = {"0.7 KB" => 1.2, "5 KB" => 1.05, "19 KB" => 1.0, "78 KB" => 0.95, "webhooks" => 1.3}.freeze
  FREEZE_GOAL = 2.3
  # Of texts in which nothing repeats.
  FRESH_DOCUMENT_GOALS = {"0.5 KB" => 1.9, "5 KB" => 4.2, "19 KB" => 4.2, "78 KB" => 4.2}.freeze
  FRESH_GOAL = 1.0
  FRESH_FREEZE_GOAL = 2.2
  NASTY_GOALS = {document: 1.5, eager: 0.9}.freeze
  # Long strings cost so little a byte that it takes more of them before the garbage collector, who frees them, has its part.
  NASTY_TIMES = Hash.new(1).merge(utf8_text: 5, long_strings: 5).freeze
  SYMBOL_GOAL = 0.9

  # The five fields of an order: one at the top, one below, and the first item's.
  ORDER = lambda do |order|
    user = order["user"]
    [order["id"], order["type"], order["currency"], user["email"], user["name"]]
  end
  SYMBOL_ORDER = lambda do |order|
    user = order[:user]
    [order[:id], order[:type], order[:currency], user[:email], user[:name]]
  end
  # The five fields of a webhook.
  WEBHOOK = lambda do |event|
    [event["action"], event.dig("repository", "full_name"), event.dig("repository", "owner", "login"),
     event.dig("sender", "login"), event.dig("sender", "id")]
  end

  # Five things that most schemas of an object say.
  SCHEMA = ->(schema) { [schema["$id"], schema["type"], schema["title"], schema["required"]&.first, schema["additionalProperties"]] }

  def initialize(bench, goals: true)
    @bench = bench
    @goals = goals
    @corpus = Corpus.new
    @bytes = bench.quick? ? 6_000_000 : 20_000_000 # a measurement; shorter ones see little but the collector's state
    @gem = "JSON.parse, json #{JSON::VERSION}"
  end

  def run
    Corpus::SIZES.each { |name, size| kind(name, @corpus.orders(size), ORDER) }
    kind("webhooks", @corpus.webhooks, WEBHOOK)
    return unless @goals

    kind("webhooks.pretty", @corpus.pretty, WEBHOOK)
    kind("schemas", @corpus.schemas, SCHEMA)

    Corpus::FRESH_SIZES.each { |name, size| fresh(name, @corpus.fresh(size)) }
    Corpus::NASTY.each { |name| nasty(name, @corpus.nasty(name)) }
    symbols("5 KB", @corpus.orders(5_000))
    encode("5 KB", @corpus.orders(5_000)) if CODEC.respond_to?(:encode)
    encode("webhooks", @corpus.webhooks) if CODEC.respond_to?(:encode)
    JSONMemory.new(@bench, @corpus).run
  end

  private

  def kind(name, texts, fields)
    check(name, texts)
    compare("json.document.#{name}", DOCUMENT_GOALS[name], -> { over(texts) { |text| fields.call(CODEC.document(text)) } },
      -> { over(texts) { |text| fields.call(JSON.parse(text)) } })
    peers("json.document.#{name}", texts, fields) if @goals
    compare("json.eager.#{name}", EAGER_GOALS[name], -> { over(texts) { |text| CODEC.decode(text) } },
      -> { over(texts) { |text| JSON.parse(text) } })
    return unless @goals

    compare("json.eager.#{name}", FREEZE_GOAL, -> { over(texts) { |text| CODEC.decode(text) } },
      -> { over(texts) { |text| Ractor.shareable?(JSON.parse(text, freeze: true)) } }, against: "freeze: true + shareable?")
  end

  # The other gems: ahead of each, whichever of its ways is taken.
  def peers(row, texts, fields)
    return unless @bench.wanted?(row)

    JSONPeers.each(fields) do |against, read|
      abort("#{row}: #{against} reads something else") unless texts.all? { |text| read.call(text) == fields.call(JSON.parse(text)) }
      compare(row, 1.0, -> { over(texts) { |text| fields.call(CODEC.document(text)) } }, -> { over(texts) { |text| read.call(text) } }, against:)
    end
  end

  def fresh(name, texts)
    check("fresh.#{name}", texts)
    compare("json.document.fresh.#{name}", FRESH_DOCUMENT_GOALS[name], -> { over(texts) { |text| ORDER.call(CODEC.document(text)) } },
      -> { over(texts) { |text| ORDER.call(JSON.parse(text)) } })
    ours = -> { over(texts) { |text| CODEC.decode(text) } }
    compare("json.eager.fresh.#{name}", FRESH_GOAL, ours, -> { over(texts) { |text| JSON.parse(text) } })
    compare("json.eager.fresh.#{name}", FRESH_FREEZE_GOAL, ours, -> { over(texts) { |text| JSON.parse(text, freeze: true) } }, against: "freeze: true")
  end

  def nasty(name, texts)
    check(name, texts)
    times = NASTY_TIMES[name]
    compare("json.document.#{name}", NASTY_GOALS[:document], -> { over(texts, times) { |text| CODEC.document(text).first } },
      -> { over(texts, times) { |text| JSON.parse(text).first } })
    compare("json.eager.#{name}", NASTY_GOALS[:eager], -> { over(texts, times) { |text| CODEC.decode(text) } },
      -> { over(texts, times) { |text| JSON.parse(text) } })
  end

  def symbols(name, texts)
    compare("json.eager.symbols.#{name}", SYMBOL_GOAL, -> { over(texts) { |text| SYMBOLS.decode(text) } },
      -> { over(texts) { |text| CODEC.decode(text) } }, against: "string keys")
    compare("json.document.symbols.#{name}", SYMBOL_GOAL, -> { over(texts) { |text| SYMBOL_ORDER.call(SYMBOLS.document(text)) } },
      -> { over(texts) { |text| ORDER.call(CODEC.document(text)) } }, against: "string keys")
  end

  def encode(name, texts)
    values = texts.map { |text| CODEC.decode(text) }
    values.each { |value| abort("json.encode: wrong result") unless CODEC.encode(value) == JSON.generate(value) }
    compare("json.encode.#{name}", 1.0, -> { over(values) { |value| CODEC.encode(value) } },
      -> { over(values) { |value| JSON.generate(value) } }, against: "JSON.generate")
  end

  def over(texts, times = 1, &)
    size = texts.first.is_a?(String) ? texts.sum(&:bytesize) : 1_000_000
    (@bytes * times / size).clamp(1, nil).times { texts.each(&) }
  end

  def compare(row, goal, ours, theirs, against: @gem)
    return unless @bench.wanted?(row)

    @bench.compare(row, ours, {against => theirs}, goals: @goals && goal ? {against => goal} : {}) { true }
  end

  # Before anything is timed: both ways of reading give what the gem gives.
  def check(name, texts)
    return unless %w[json.document json.eager].any? { |row| @bench.wanted?("#{row}.#{name}") }

    texts.each do |text|
      expected = JSON.parse(text)
      right = CODEC.decode(text) == expected && CODEC.document(text) == expected && Ractor.shareable?(CODEC.decode(text))
      abort("json.#{name}: not what JSON.parse gives: #{text[0, 200]}") unless right
    end
  end
end

# The gem that comes with this Ruby, out of Bundler's sight.
def with_own_gem(bench)
  script = <<~RUBY
    gem "json", Gem.loaded_specs["json"] ? nil : Gem::Specification.select { |spec| spec.name == "json" && spec.default_gem? }.map(&:version).max.to_s
    require #{File.expand_path("json.rb", __dir__).inspect}
  RUBY
  bundler = %w[RUBYOPT BUNDLER_SETUP BUNDLE_GEMFILE GEM_HOME GEM_PATH].to_h { |name| [name, nil] }
  variables = {**bundler, "GUILDHALL_BENCH_OWN_GEM" => "1"}
  switches = RubyVM::YJIT.enabled? ? ["--yjit"] : []
  out, status = Open3.capture2(variables, RbConfig.ruby, *switches, "-e", script, "--", "--json", *("--quick" if bench.quick?))
  abort("bin/bench json: the comparison with the json gem of this Ruby failed") unless status.success?
  out.lines.map { |line| JSON.parse(line) }.each do |row|
    bench.row(row["row"], against: row["against"], ratio: row["ratio"])
  end
end

ONLY = ARGV.include?("--only") # rows of this process are enough then

Bench.script("json") do |bench|
  own = ENV.key?("GUILDHALL_BENCH_OWN_GEM")
  JSONRows.new(bench, goals: !own).run
  with_own_gem(bench) unless own || ONLY
end
