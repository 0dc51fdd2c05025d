# frozen_string_literal: true

module Guildhall
  # Rows for people, each column as wide as it has to be.
  module TextTable
    # @param rows [Array<Array<#to_s>>] the first may hold headings; nil: "-"
    # @return [Array<String>] lines
    def self.lines(rows)
      table = rows.map { |row| row.map { |cell| cell.nil? ? "-" : cell.to_s } }
      widths = table.transpose.map { |column| column.map(&:size).max }
      table.map { |line| line.zip(widths).map { |cell, width| cell.ljust(width) }.join("  ").rstrip }
    end
  end
end
