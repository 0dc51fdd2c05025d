# frozen_string_literal: true

module Guildhall
  class Schema
    module Keywords
      # Keywords about the elements of arrays.
      module Arrays
        def unique_items(unit, keyword, value)
          unit.refuse(keyword, "is true or false") unless [true, false].include?(value)
          unit.emit(:unique_items, keyword, value) if value
        end

        # First by position, then one schema for the rest; the drafts name these differently.
        def items(unit)
          prefix_keyword, rest_keyword = unit.dialect.draft7? ? draft7_items(unit) : %w[prefixItems items]
          prefix = unit.schema[prefix_keyword] || []
          unit.refuse(prefix_keyword, "is an array of schemas") unless prefix.is_a?(Array)
          return if prefix.empty? && !unit.key?(rest_keyword)

          indexes = prefix.each_index.map { |index| unit.child(prefix_keyword, index) }
          unit.emit(:items, rest_keyword, unit.schema[rest_keyword], indexes, unit.optional(rest_keyword))
        end

        # `minContains: 0` makes `contains` hold for everything; it still says which elements are spoken about.
        def contains(unit)
          return unless unit.key?("contains")

          schema = unit.schema
          at_least, at_most = unit.dialect.draft7? ? [1, nil] : schema.values_at("minContains", "maxContains")
          unless unit.dialect.assertions
            at_least = 1
            at_most = nil
          end
          [at_least, at_most].compact.each { |value| unit.refuse("contains", "counts elements") unless value.is_a?(Numeric) && value >= 0 }
          unit.emit(:contains, "contains", schema["contains"], unit.child("contains"), at_least&.to_i, at_most&.to_i)
        end

        private

        def draft7_items(unit)
          unit.schema["items"].is_a?(Array) ? %w[items additionalItems] : ["", "items"]
        end
      end
    end
  end
end
