# frozen_string_literal: true

class Bench
  # @param numbers [Array<Numeric>] one or more
  # @return [Numeric] the middle one, or the mean of the two in the middle
  def self.median(numbers)
    sorted = numbers.sort
    middle = sorted.size / 2
    sorted.size.odd? ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2.0
  end
end
