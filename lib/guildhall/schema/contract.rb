# frozen_string_literal: true

require_relative "contract/properties"
require_relative "contract/match"
require_relative "contract/predicate"

module Guildhall
  class Schema
    # Contracts for those who do not write JSON Schema: required properties, types, ranges and predicates, in Ruby. They
    # become an ordinary {Schema}, with the same validators and the same errors.
    #
    #     ORDER = Guildhall::Schema.contract do
    #       required "id", Integer, range: (1..)
    #       required "status", one_of: %w[open paid]
    #       optional "email", String, format: "email"
    #       required "items", [Hash], size: 1..100 do
    #         required "sku", String, match: /\A[A-Z]{2}\d+\z/
    #       end
    #       closed
    #     end
    #     ORDER.validator.valid?(document)
    class Contract
      # @param options [Hash] see {Options}
      # @yield in the context of {Properties}; a block with a parameter gets it as that instead, and keeps its own self:
      #   predicates that are blocks need this on Ruby 3.4, where only a class or module as self can be shared
      # @raise [Guildhall::ArgumentError] for a type or option that does not exist
      # @raise [NotShareableError] for a predicate that cannot be shared between Ractors
      def self.schema(**options, &block)
        raise Guildhall::ArgumentError, "a contract is a block: required \"id\", Integer" unless block

        predicates = {}
        properties = Properties.new(predicates, Options.new(**options.slice(:regexp_timeout)).regexp_timeout).read(block)
        Schema.new(properties.to_schema, **options, keywords: {**options.fetch(:keywords, {}), **predicates})
      end
    end
  end
end
