# frozen_string_literal: true

require_relative "json_rows"
require_relative "schema_rows"

module Cost
  # Documents that are composed at random, and everything that is done to JSON and by schemas.
  module RandomRows
    # @param seed [Integer]
    # @param rounds [Integer] documents
    def self.rows(seed:, rounds:)
      random = Random.new(seed)
      Array.new(rounds) { |round| rows_of("document #{round} of seed #{seed}", Documents.random(random)) }.flatten
    end

    def self.rows_of(document, payload)
      texts = JSONRows::TEXTS.map { |operation, work| JSONRows.row(document, operation, payload, work) }
      documents = JSONRows::DOCUMENTS.map { |operation, work| JSONRows.row(document, operation, payload, work, ->(text) { JSONRows::STRICT.document(text) }) }
      texts + documents + SchemaRows.rows({document => payload})
    end
  end
end
