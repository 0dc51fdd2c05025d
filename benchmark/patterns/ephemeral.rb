# frozen_string_literal: true

require_relative "work"

module Patterns
  # New Ractors for each batch: nothing to look after, and a Ractor's start and end to pay for each time.
  class Ephemeral
    def initialize(workers)
      @workers = workers
    end

    def map(texts)
      parts = texts.each_slice((texts.size / @workers.to_f).ceil).map { |part| Ractor.make_shareable(part) }
      ractors = parts.map { |part| Ractor.new(part) { |mine| Work.call(mine) } }
      ractors.flat_map { |ractor| PORTS ? ractor.value : ractor.take }
    end

    def close; end
  end
end
