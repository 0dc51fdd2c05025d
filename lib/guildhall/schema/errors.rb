# frozen_string_literal: true

module Guildhall
  # What is wrong with a schema itself. The message begins with its location.
  class SchemaError < Error
    # @return [String, nil] where in the schema: "#/properties/age"
    attr_reader :location

    # @param reason [String]
    # @param location [String, nil]
    def initialize(reason, location: nil)
      @location = location
      super([location, reason].compact.join(": "))
    end
  end

  class Schema
    # Validation stopped without a verdict: it would have taken more work than `work_limit:` allows, a regular
    # expression more time than `regexp_timeout:`, or schema and value are nested too deep.
    class LimitError < Error; end
  end
end
