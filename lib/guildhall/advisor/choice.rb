# frozen_string_literal: true

module Guildhall
  class Advisor
    # Which of the measured ways to take.
    module Choice
      CLOSE = 0.95 # of the best: then fewer workers, and smaller batches, do
      private_constant :CLOSE

      # @return [Cell, nil] nil: none pays
      def self.of(cells)
        paying = cells.select(&:pays?)
        best = paying.map(&:gain).max
        paying.select { |cell| cell.gain >= CLOSE * best }.min_by { |cell| [cell.workers, cell.batch] }
      end

      # @param cells [Array<Cell>] of one way, by batch size
      # @return [Cell, nil] the smallest batch from which on all pay
      def self.first(cells)
        cells.sort_by { |cell| -cell.batch }.take_while(&:pays?).last
      end
    end
  end
end
