# frozen_string_literal: true

require_relative "compiler"

module Guildhall
  class Avro
    # A compiled schema (or two of them), run by C. Frozen and shareable.
    # @api private
    class Program
      # @!method decode(bytes, from)
      # @!method document(bytes, from)
      # @!method native_decoder
      # @!method decode_many(bytes, count)
      # @!method encode(object, prefix)
      # @!method encode_measured(object)
      #   @return [Array(String, Integer, Integer)] the bytes, and what a block of values is limited by: items and fields that take no byte
      # @!method unpaid_fields(length)
      #   @return [Integer] how many fields that take no byte may be in that many bytes

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
