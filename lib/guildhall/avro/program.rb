# frozen_string_literal: true

require_relative "compiler"

module Guildhall
  class Avro
    # A compiled schema (or two of them), run by C. Frozen and shareable.
    # @api private
    class Program
      # @!method decode(bytes, from = 0)
      #   @return [Object]
      # @!method document(bytes, from = 0)
      #   @return [MapDocument, ArrayDocument, Object]
      # @!method native_decoder
      #   @return [Integer]
      # @!method decode_many(bytes, count)
      #   @return [Array]
      # @!method encode(object, prefix)
      #   @return [String]
      # @!method encode_measured(object)
      #   @return [Array(String, Integer, Integer)] the bytes, and what a block of values is limited by: items and fields that take no byte
      # @!method unpaid_fields(length)
      #   @return [Integer] how many fields that take no byte may be in that many bytes

      # @param writer [Schema]
      # @param reader [Schema]
      # @param options [Hash{Symbol=>Object}] see {Options}
      def initialize(writer, reader, options)
        logical = Logical.new(options.fetch(:logical_types))
        compiler = Compiler.new(writer, reader, logical, **options.slice(:symbolize_names, :tagged_unions))
        compiler.constants.each { |constant| Shareable.check!(constant, "Avro constant") }
        load(compiler.nodes, compiler.operands, compiler.constants)
        configure(options)
        share
      end
    end
  end
end
