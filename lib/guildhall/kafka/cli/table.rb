# frozen_string_literal: true

module Guildhall
  module Kafka
    module CLI
      # Rows under headings, each column as wide as it has to be.
      module Table
        # @param headings [Array<String>]
        # @param rows [Array<Array<#to_s>>] nil: "-"
        # @return [Array<String>] lines
        def self.lines(headings, rows)
          table = [headings, *rows.map { |row| row.map { |cell| cell.nil? ? "-" : cell.to_s } }]
          widths = table.transpose.map { |column| column.map(&:size).max }
          table.map { |line| line.zip(widths).map { |cell, width| cell.ljust(width) }.join("  ").rstrip }
        end
      end
    end
  end
end
