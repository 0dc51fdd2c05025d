# frozen_string_literal: true

# JSON Schema beside json_schemer (Ruby) and jsonschema_rs (Rust), on real webhooks and their events' definitions;
# formats are checked by all three.

require "json_schemer"
require "jsonschema_rs"
require "guildhall/pool"
require "guildhall/schema"
require_relative "support/bench"
require_relative "data/events"

# What each row does, over all deliveries.
class SchemaRows
  VALID = 276
  LAZY = Guildhall::JSON.lazy

  # Parses and validates; which event it is stands in the metadata, as a Kafka header would say it.
  class Check
    def initialize(validators)
      @validators = validators
      Ractor.make_shareable(self)
    end

    def call(text, name) = @validators.fetch(name).valid?(LAZY.decode(text))
  end

  def initialize(bench)
    @bench = bench
    @events = Events.new
    schema = Guildhall::Schema.new(@events.schema)
    @ours = @events.by_event { |name| schema.validator(at: "#/definitions/#{name}") }
    @rust = @events.by_event { |name| JSONSchema.validator_for(@events.schema(name), validate_formats: true) }
    @rounds = bench.quick? ? 5 : 15 # passes over all deliveries a measurement
  end

  def run
    documents = @events.texts.map { |text| LAZY.decode(text) }
    values = @events.texts.map { |text| JSON.parse(text) }
    one_thread("schema.document.webhooks", documents, values)
    one_thread("schema.values.webhooks", values, values, goals: false)
    json_schemer(documents, values)
    parse_and_validate
    on_the_pool
  end

  private

  def one_thread(name, ours, theirs, goals: true)
    @bench.compare(name, -> { passes(@ours, ours) }, {"jsonschema_rs" => -> { passes(@rust, theirs) }},
      goals: goals ? {"jsonschema_rs" => 2} : {}, &method(:right?))
  end

  # One pass of it takes longer than fifteen of the others.
  def json_schemer(documents, values)
    schemas = @events.by_event { |name| JSONSchemer.schema(@events.schema(name)) }
    @bench.compare("schema.document.webhooks", -> { passes(@ours, documents, 1) }, {"json_schemer" => -> { passes(schemas, values, 1) }},
      goals: {"json_schemer" => 40}, rounds: 3, &method(:right?))
  end

  def parse_and_validate
    @bench.compare("schema.parse_and_validate.webhooks", -> { parsing(@ours) { |text| LAZY.decode(text) } },
      {"JSON.parse + jsonschema_rs" => lambda {
        parsing(@rust) do |text|
          JSON.parse(text)
        end
      }}, goals: {"JSON.parse + jsonschema_rs" => 4}, &method(:right?))
  end

  def on_the_pool
    task = Check.new(@events.names.zip(@ours).to_h)
    texts = @events.texts * @rounds
    names = @events.names * @rounds
    pool = Guildhall::Pool.new(workers: 2)
    @bench.compare("schema.pool.webhooks", -> { pool.dispatch(texts, task, metadata: names, parallel: true).value.count(true) / @rounds },
      {"JSON.parse + jsonschema_rs" => lambda {
        parsing(@rust) do |text|
          JSON.parse(text)
        end
      }}, goals: {"JSON.parse + jsonschema_rs" => 6}, &method(:right?))
  ensure
    pool&.shutdown
  end

  def right?(results) = results.all?(VALID)

  def passes(validators, values, times = @rounds)
    count = 0
    times.times { count = values.each_with_index.count { |value, index| validators[index].valid?(value) } }
    count
  end

  def parsing(validators)
    count = 0
    @rounds.times { count = @events.texts.each_with_index.count { |text, index| validators[index].valid?(yield(text)) } }
    count
  end
end

Bench.script("schema") { |bench| SchemaRows.new(bench).run }
