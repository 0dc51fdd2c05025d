# frozen_string_literal: true

require_relative "row"

module Cost
  # What the rule has to see, and one thing that it must not.
  module Examples
    WORK = {
      "in Ruby" => ->(text) { text.bytesize.times { |i| i.times { |j| j } } },
      "copies" => ->(text) { text.bytesize.times { |i| text.byteslice(0, i) + "x" } },
      "comparisons" => ->(text) { text.bytesize.times { |i| text.byteslice(0, i) == text.byteslice(1, i) } },
      "memory" => ->(text) { (text.bytesize / 8).times { Array.new(text.bytesize) } },
      "encode of elements" => ->(text) { Guildhall::JSON.document("[#{(["[1,2]"] * text.bytesize).join(",")}]").each { |pair| Guildhall::JSON.encode(pair) } }
    }.freeze

    def self.rows = WORK.map { |operation, work| Row.new(codec: "", document: "", operation:, payload: ->(n) { "x" * n }, work:) }
  end
end
