# frozen_string_literal: true

require "json"
require_relative "../support/pool_peers"

# Ways to use Ractors for batches of JSON, as their authors would write them. Each has `map(texts)`, which returns what JSON.parse gives, frozen
# and in order, and `close`. See docs/slow_ractors.md.
module Patterns
  # What a worker does with a part of a batch.
  module Work
    def self.call(part) = Ractor.make_shareable(part.map { |text| JSON.parse(text, freeze: true) })
  end

  PORTS = defined?(Ractor::Port)
end
