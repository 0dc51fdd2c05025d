# frozen_string_literal: true

module Guildhall
  class Template
    # @api private
    # Several templates as one task of the pool: each payload says which one, and with which locals. Frozen and shareable.
    class AnyOf
      def initialize(templates)
        @templates = templates.dup.freeze
        freeze
      end

      # @raise see {Template#render}
      def call(pair)
        pair[0].call(pair[1])
      end

      def inspect = "any of #{@templates.map(&:name).join(", ")}"
    end
    private_constant :AnyOf
  end
end
