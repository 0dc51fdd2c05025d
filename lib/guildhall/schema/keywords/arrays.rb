# frozen_string_literal: true

module Guildhall
  class Schema
    module Keywords
      # Keywords about the elements of arrays.
      module Arrays
        def unique_items(compilation, keyword, value)
          compilation.refuse(keyword, "is true or false") unless [true, false].include?(value)
          compilation.emit(:unique_items, keyword, value) if value
        end

        # First by position, then one schema for the rest; the drafts name these differently.
        def items(compilation)
          prefix_keyword, rest_keyword = compilation.dialect.item_lists? ? listed_items(compilation) : %w[prefixItems items]
          prefix = compilation.schema[prefix_keyword] || []
          compilation.refuse(prefix_keyword, "is an array of schemas") unless prefix.is_a?(Array)
          return if prefix.empty? && !compilation.key?(rest_keyword)

          indexes = prefix.each_index.map { |index| compilation.child(prefix_keyword, index) }
          compilation.emit(:items, rest_keyword, compilation.schema[rest_keyword], indexes, compilation.optional(rest_keyword))
        end

        # `minContains: 0` makes `contains` hold for everything; it still says which elements are spoken about.
        def contains(compilation)
          return unless compilation.key?("contains")

          schema = compilation.schema
          at_least, at_most = compilation.dialect.old? ? [1, nil] : schema.values_at("minContains", "maxContains")
          unless compilation.dialect.assertions
            at_least = 1
            at_most = nil
          end
          counts = [at_least, at_most].compact
          compilation.refuse("contains", "counts elements") unless counts.all? do |value|
            value.is_a?(Numeric) && value >= 0 && value.finite? && Digits.of(value) <= Digits::MOST
          end
          compilation.emit(:contains, "contains", schema["contains"], compilation.child("contains"), at_least&.to_i, at_most&.to_i,
            compilation.dialect.contains_evaluates?)
        end

        private

        def listed_items(compilation)
          compilation.schema["items"].is_a?(Array) ? %w[items additionalItems] : ["", "items"]
        end
      end
    end
  end
end
