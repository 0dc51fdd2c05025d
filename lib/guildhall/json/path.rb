# frozen_string_literal: true

require_relative "path/evaluation"
require_relative "path/parser"
require_relative "path/condition"

module Guildhall
  class JSON
    # A JSONPath (RFC 9535): names, indexes, slices, wildcards, unions, descent, and filters with comparisons, existence,
    # `&&`, `||`, `!`, and the functions `length`, `count`, `value`, `match` and `search`. Compiled once, frozen, shareable.
    #
    #     skus = Guildhall::JSON::Path.new("$.items[?@.price < 10 && !@.sold].sku")
    #     skus.of(document)  # => ["SKU-1", "SKU-2"]
    class Path
      attr_reader :source

      # @param source [String] such as `$.items[0,-1]['unit price']`, `$..sku`, `$.items[2:5]`, `$.items[?@.qty > 1]`
      # @raise [Guildhall::ArgumentError] naming the position that is not understood
      def initialize(source)
        text = SharedRegexp.utf8(source) if source.is_a?(String)
        raise Guildhall::ArgumentError, "a JSONPath is a valid String, not #{source.inspect}" unless text

        @source = text.dup.freeze
        @query = Parser.new(@source).query
        Ractor.make_shareable(self)
      end

      # @return [Array] frozen: every value that the path leads to, in the order of the document
      def of(document) = @query.of(Evaluation.new(document), document).freeze

      # @api private
      # @return [Array<String, Integer>, nil] names and indexes on the way to the only value; nil: there may be several
      def steps = (@query.segments.map { |_, (step)| step } if @query.singular?)

      def inspect = "#<#{self.class} #{@source}>"
      alias to_s source
    end
  end
end
