# frozen_string_literal: true

module Guildhall
  # What can be found out about a callable before it is called.
  module Callable
    POSITIONAL = %i[req opt].freeze
    private_constant :POSITIONAL

    # @param callable [#call]
    # @return [Boolean] whether it takes `(value, metadata)` rather than `(value)` alone
    def self.takes_metadata?(callable)
      parameters = callable.is_a?(Proc) ? callable.parameters(lambda: true) : callable.method(:call).parameters
      parameters.count { |kind, _| POSITIONAL.include?(kind) } >= 2
    end
  end
end
