# frozen_string_literal: true

module Guildhall
  class Inspection
    # One thing that a task's code touches and a worker may not.
    #
    # @!attribute [r] thing
    #   @return [String] `RATES`, `$logger`, `@@count`, `@cache`, `self` …
    # @!attribute [r] file
    #   @return [String, nil] nil: it is about an object, not about code
    # @!attribute [r] problem
    #   @return [String] "is a Hash that is not shareable"
    # @!attribute [r] advice
    #   @return [String] what to change
    Finding = Data.define(:thing, :file, :line, :problem, :advice) do
      # @return [String, nil] "file:line"
      def place = file && [file, line].compact.join(":")

      def to_s = "#{thing}#{" (#{place})" if place} #{problem}; #{advice}"
    end
  end
end
