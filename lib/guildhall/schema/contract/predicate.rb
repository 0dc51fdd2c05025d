# frozen_string_literal: true

module Guildhall
  class Schema
    class Contract
      # A callable as a keyword: true, or the message.
      class Predicate
        # @param message [String, nil] nil: "fails a predicate"
        # @param regexp_timeout [Numeric] seconds that a match may take, of a Regexp that does not say so itself
        # @raise [NotShareableError]
        def initialize(callable, message, regexp_timeout)
          @match = Match.new(callable, regexp_timeout) if callable.is_a?(Regexp)
          @callable = Shareable.callable!(callable, "predicate") unless @match
          @message = (message || (@match ? "does not match #{callable.inspect}" : "fails a predicate")).dup.freeze
          Ractor.make_shareable(self)
        end

        def call(value, _operand)
          holds?(value) || @message
        end

        private

        def holds?(value)
          return @callable.call(value) && true unless @match

          !value.is_a?(String) || @match.call(value)
        end
      end
      private_constant :Predicate
    end
  end
end
