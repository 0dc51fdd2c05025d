# frozen_string_literal: true

require_relative "printable"

module Guildhall
  # Rows for people, each column as wide as it has to be. What came from outside cannot change the terminal: cells are {Printable}.
  # @api private
  module TextTable
    GAP = "  "
    LEAST = 12 # characters that a column keeps
    MOST = 4_000 # that any cell has
    private_constant :GAP, :LEAST, :MOST

    # @param rows [Array<Array<#to_s>>] the first may hold headings; nil: "-"
    # @param width [Integer, nil] characters that a line may have: the widest columns lose the middle of their cells; nil: any number
    # @return [Array<String>] lines
    def self.lines(rows, width: nil)
      table = rows.map { |row| row.map { |cell| cell.nil? ? "-" : Printable.words(cell.to_s, MOST) } }
      widths = table.transpose.map { |column| column.map(&:size).max }
      narrow(widths, width - (GAP.size * (widths.size - 1))) if width
      table.map { |line| line.zip(widths).map { |cell, most| shortened(cell, most).ljust(most) }.join(GAP).rstrip }
    end

    def self.narrow(widths, sum)
      widths[widths.index(widths.max)] -= 1 while widths.sum > sum && widths.max > LEAST
    end

    # Names of topics often differ only at their ends.
    def self.shortened(text, most)
      return text if text.size <= most

      last = (most - 1) / 2
      "#{text[0, most - 1 - last]}…#{text[text.size - last, last]}"
    end
    private_class_method :narrow, :shortened
  end
end
