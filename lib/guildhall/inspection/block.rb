# frozen_string_literal: true

module Guildhall
  class Inspection
    # What a block's instructions alone show: which variables of its surroundings it uses, and whether it uses self.
    class Block
      LOCAL = /\A[gs]etlocal|\Agetblockparam/
      SELF = %i[putself getinstancevariable setinstancevariable invokesuper].freeze
      VARIABLE = /\b(?:[gs]etlocal|getblockparam)\S*\s+(\S+)@\d/
      private_constant :LOCAL, :SELF, :VARIABLE

      attr_reader :uses_self
      # @return [Boolean] whether it uses variables from around it
      attr_reader :captures
      # @return [Array<Symbol>] the variables that it names: all that it captures, and some of its own
      attr_reader :variables

      def initialize(instructions)
        @uses_self = @captures = false
        read(instructions.to_a, 0)
        @variables = @captures ? instructions.disasm.scan(VARIABLE).flatten.uniq.map(&:to_sym).freeze : [].freeze
        freeze
      end

      # @return [Boolean] whether all lambdas of these instructions do the same
      def independent? = !@uses_self && !@captures

      private

      def read(code, depth)
        code[Instructions::BODY].each { |element| look_at(element, depth) if element.is_a?(Array) }
        code[Instructions::CATCHES].each { |entry| read(entry[1], depth + 1) if entry[1] }
      end

      def look_at((name, *operands), depth)
        @uses_self = true if SELF.include?(name)
        @captures = true if name.match?(LOCAL) && level_of(name, operands) > depth
        operands.each { |operand| read(operand, depth + 1) if operand.is_a?(Array) && operand.first == Instructions::FORMAT }
      end

      def level_of(name, operands)
        name.end_with?("_WC_0") ? 0 : (name.end_with?("_WC_1") ? 1 : operands[1])
      end
    end
  end
end
