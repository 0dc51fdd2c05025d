# frozen_string_literal: true

require_relative "row"

module Cost
  # What the rule has to see, and one thing that it must not.
  module Examples
    WORK = {
      "in Ruby" => ->(text) { text.bytesize.times { |i| i.times { |j| j } } },
      "copies" => ->(text) { (text.bytesize / 20).times { |i| (text.byteslice(0, i * 20) + "x").hash } },
      "comparisons" => ->(text) { (text.bytesize / 20).times { |i| text.byteslice(0..(i * 20)) == text.byteslice(0, (i * 20) + 1) } },
      "memory" => ->(text) { (text.bytesize / 8).times { Array.new(text.bytesize) } },
      "encode of elements" => ->(text) { Guildhall::JSON.document("[#{(["[1,2]"] * text.bytesize).join(",")}]").each { |pair| Guildhall::JSON.encode(pair) } }
    }.freeze

    def self.rows = WORK.map { |operation, work| Row.new(codec: "", document: "", operation:, payload: ->(n) { "x" * n }, work:) }
  end
end
