# frozen_string_literal: true

module Guildhall
  class Schema
    # JSON Pointers, RFC 6901.
    module Pointer
      # @param tokens [Array<String, Integer>]
      # @return [String]
      def self.build(tokens)
        tokens.map { |token| "/#{escape(token)}" }.join
      end

      # @param token [String, Integer]
      # @return [String]
      def self.escape(token)
        token.to_s.gsub("~", "~0").gsub("/", "~1")
      end

      # @param pointer [String] "" or beginning with "/"
      # @return [Array<String>]
      def self.tokens(pointer)
        pointer.split("/", -1).drop(1).map { |token| token.gsub("~1", "/").gsub("~0", "~") }
      end

      # @param value [Hash, Array]
      # @param token [String]
      # @yield when there is nothing
      # @return [Object]
      def self.step(value, token, &)
        case value
        when Hash then value.fetch(token, &)
        when Array then token.match?(/\A(0|[1-9]\d*)\z/u) ? value.fetch(token.to_i, &) : yield
        else yield
        end
      end
    end
  end
end
