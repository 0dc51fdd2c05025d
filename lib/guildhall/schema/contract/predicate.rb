# frozen_string_literal: true

module Guildhall
  class Schema
    class Contract
      # A callable as a keyword: true, or the message.
      class Predicate
        # @param callable [#call, Regexp]
        # @param message [String, nil] nil: "fails a predicate"
        # @param regexp_timeout [Numeric] seconds that a match may take, of a Regexp that does not say so itself
        # @raise [NotShareableError]
        def initialize(callable, message, regexp_timeout)
          @callable = callable.is_a?(Regexp) ? regexp(callable, regexp_timeout) : Shareable.callable!(callable, "predicate")
          @message = (message || default).dup.freeze
          Ractor.make_shareable(self)
        end

        # @return [true, String]
        def call(value, _operand)
          holds?(value) || @message
        end

        private

        def regexp(regexp, timeout) = SharedRegexp.with_encoding(regexp, timeout: regexp.timeout || timeout)

        def holds?(value)
          return @callable.call(value) && true unless @callable.is_a?(Regexp)

          !value.is_a?(String) || SharedRegexp.match?(@callable, value)
        end

        def default
          @callable.is_a?(Regexp) ? "does not match #{@callable.inspect}" : "fails a predicate"
        end
      end
      private_constant :Predicate
    end
  end
end
