# frozen_string_literal: true

module Guildhall
  class Inspection
    # One thing that a task's code touches and a worker may not.
    #
    # @!attribute [r] thing
    #   @return [String] `RATES`, `$logger`, `@@count`, `@cache`, `self` …
    # @!attribute [r] file
    #   @return [String]
    # @!attribute [r] line
    #   @return [Integer]
    # @!attribute [r] problem
    #   @return [String] "is a Hash that is not shareable"
    # @!attribute [r] advice
    #   @return [String] what to change
    Finding = Data.define(:thing, :file, :line, :problem, :advice) do
      # @return [String]
      def to_s = "#{thing} (#{file}:#{line}) #{problem}; #{advice}"
    end
  end
end
