# frozen_string_literal: true

require_relative "work"

module Patterns
  # Each batch is cut into as many parts as there are workers, each of which gets one: simple, and as slow as its slowest part.
  class PrePartitioned
    def initialize(workers)
      @inbox = PoolPeers.inbox
      @workers = Array.new(workers) { |number| PoolPeers.worker(@inbox, number, Work) }
    end

    def map(texts)
      parts = texts.each_slice((texts.size / @workers.size.to_f).ceil).map { |part| Ractor.make_shareable(part) }
      parts.each_with_index { |part, index| @workers[index].send(part) }
      Array.new(parts.size) { PoolPeers.take(@inbox) }.sort_by(&:first).flat_map(&:last)
    end

    def close = @workers.each { |worker| worker.send(nil) }
  end
end
