# frozen_string_literal: true

require "json"
require "guildhall/schema"

# Real webhook deliveries with the schema of their event, as several implementations want it.
class Events
  FOLDER = File.expand_path("../../vendor/webhooks", __dir__)
  DRAFT = "http://json-schema.org/draft-07/schema#"

  # @return [Array<String>] frozen texts
  attr_reader :texts
  # @return [Array<String>] each text's event
  attr_reader :names

  def initialize
    index = JSON.parse(File.read(File.join(FOLDER, "webhooks-examples/api.github.com/index.json"), encoding: "UTF-8"))
    deliveries = index.flat_map { |event| event.fetch("examples").map { |example| [-event.fetch("name"), JSON.generate(example).freeze] } }
    @names, @texts = deliveries.transpose
    @definitions = plain(JSON.parse(File.read(File.join(FOLDER, "webhooks-schemas/schema.json"), encoding: "UTF-8")).fetch("definitions"))
  end

  # @return [Array] for each text what the block makes of its event's definition; made once an event
  # @yieldparam name [String] in `definitions`
  def by_event
    made = Hash.new { |hash, name| hash[name] = yield(definition(name)) }
    @names.map { |name| made[name] }
  end

  # @return [Hash] all definitions, and where to begin
  def schema(name = nil)
    {"$schema" => DRAFT, **({"$ref" => "#/definitions/#{name}"} if name), "definitions" => @definitions}
  end

  private

  def definition(event)
    @definitions.key?("#{event}_event") ? "#{event}_event" : "#{event}$event"
  end

  # The drafts allow `$schema` at the top alone, and json_schemer insists on it.
  def plain(value)
    case value
    when Hash then value.except("$schema").transform_values { |inner| plain(inner) }
    when Array then value.map { |inner| plain(inner) }
    else value
    end
  end
end
