# frozen_string_literal: true

module Guildhall
  class Schema
    # JSON Pointers, RFC 6901.
    module Pointer
      def self.build(tokens)
        tokens.map { |token| "/#{escape(token)}" }.join
      end

      # @param token [#to_s] a String in any encoding
      # @return [String] UTF-8
      def self.escape(token)
        Printable.utf8(token.to_s).gsub("~", "~0").gsub("/", "~1")
      end

      # @param pointer [String] "" or beginning with "/"
      def self.tokens(pointer)
        pointer.split("/", -1).drop(1).map { |token| token.gsub("~1", "/").gsub("~0", "~") }
      end

      # @yield when there is nothing
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
