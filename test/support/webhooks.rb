# frozen_string_literal: true

require "json"
require_relative "../../tool/environment"

# The real deliveries that bin/setup fetches.
module Webhooks
  # @return [Array<String>] frozen JSON texts
  def self.texts
    path = File.join(Environment::WEBHOOKS, "webhooks-examples", "api.github.com", "index.json")
    JSON.parse(File.read(path, encoding: "UTF-8")).flat_map { |event| event["examples"].map { |example| JSON.generate(example).freeze } }
  end
end
