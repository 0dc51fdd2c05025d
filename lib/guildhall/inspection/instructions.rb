# frozen_string_literal: true

module Guildhall
  class Inspection
    # Goes through the instructions of a method or block, and of the blocks in it, and reports to a visitor what they touch. It keeps an
    # account of what lies on the stack where that is known (constants, self, what `new` gives), so that the visitor can follow
    # calls; where two branches meet it resets.
    class Instructions
      FORMAT = "YARVInstructionSequence/SimpleDataFormat"
      # Their positions in ISeq#to_a.
      PATH = 6
      FIRST_LINE = 8
      KIND = 9
      CATCHES = 12
      BODY = 13
      # Flags of a call.
      BLOCK_ARGUMENT = 2
      FCALL = 4
      # Their blocks run with another self.
      OTHER_SELF = %i[instance_eval instance_exec class_eval class_exec module_eval module_exec define_method new define].freeze
      # How many values an instruction takes from the stack; each leaves one.
      TAKES = {newrange: 2, intern: 1, objtostring: 1, anytostring: 2, splatarray: 1, concatarray: 2, checkmatch: 2, defined: 1}.freeze
      LEAVES_ONE = /\A(put(object|string|chilled|special|nil)|dup(array|hash)|get(local|block|special)|opt_(str|ary|hash)_freeze|
                       once|definedivar)/x
      COUNTED = %i[newarray newhash concatstrings].freeze
      DEFINITIONS = %i[definemethod definesmethod defineclass].freeze
      private_constant :OTHER_SELF, :TAKES, :LEAVES_ONE, :COUNTED, :DEFINITIONS

      # @param code [Array] as ISeq#to_a gives it
      # @param mine [Known, Instance, Lost, nil] self; nil: not known
      def initialize(code, visitor, mine)
        @code = code
        @visitor = visitor
        @mine = mine
        @stack = []
        @line = code[FIRST_LINE]
        @bare = 0
      end

      def visit
        index = 0
        while (element = @code[BODY][index])
          case element
          when Integer then @line = element
          when Array then index = step(element, index)
          else @stack.clear if element.start_with?("label")
          end
          index += 1
        end
        @visitor.bare_self(@mine, place) if @bare.positive?
        inner(@code[CATCHES].map { |entry| entry[1] })
      end

      private

      def place = Inspection.place(@code[PATH], @line).freeze

      # @return [Integer] the last index that is done with
      def step((name, *operands), index)
        return made(operands[0], index) if name == :opt_new
        return index if name == :putobject && operands[0].is_a?(Regexp) && @stack.push(Known.new(operands[0]))

        call = operands.find { |operand| operand.is_a?(Hash) && operand.key?(:orig_argc) } unless %i[objtostring duphash].include?(name)
        if call then call(name, call, operands)
        else touch(name, operands[0]) || move(name, operands)
        end
        index
      end

      # Reports to the visitor.
      def touch(name, operand)
        case name
        when :opt_getconstant_path then @stack.push(@visitor.constant(operand, place))
        when :getconstant then @stack.push(@visitor.constant_in(@stack.pop(2).first, operand, place))
        when :getinstancevariable then @stack.push(@visitor.read(@mine, operand, place))
        when :setinstancevariable then write(operand)
        when :setspecial then @stack.clear && @visitor.flip_flop(place)
        when :getglobal, :setglobal
          @visitor.global(operand, place)
          name == :getglobal ? @stack.push(nil) : @stack.pop
        when :getclassvariable then @stack.push(@visitor.class_variable(operand, place))
        when :setclassvariable
          @stack.pop
          @visitor.set_class_variable(operand, place)
        else return false
        end
        true
      end

      def write(variable)
        @stack.pop
        @visitor.write(@mine, variable, place)
      end

      def call(name, call, operands)
        receiver = receiver_of(call, name)
        blocks = operands.select { |operand| code?(operand) }
        inner(blocks, OTHER_SELF.include?(call[:mid]) ? nil : @mine)
        @stack.push(name.start_with?("invokesuper") ? @visitor.call_super(@mine) : @visitor.call(receiver, call[:mid], place))
      end

      def receiver_of(call, name)
        arguments = @stack.pop(call[:orig_argc] + Array(call[:kw_arg]).size + (call[:flag].anybits?(BLOCK_ARGUMENT) ? 1 : 0))
        receiver = @stack.pop unless name == :invokeblock
        @visitor.match(call[:mid], place) if [receiver, *arguments].any? { |value| value.is_a?(Known) && value.object.is_a?(Regexp) }
        return receiver if call[:flag].nobits?(FCALL) || name == :opt_new

        @bare -= 1
        @mine
      end

      # `Class.new(…)` as Ruby 4.0 writes it: below the arguments the class, below that a place for the object. Two ways follow, for
      # classes without and with a `new` of their own, and a `pop`.
      def made(call, index)
        receiver = receiver_of(call, :opt_new)
        @stack.pop
        @stack.push(@visitor.call(receiver, :new, place), nil)
        jump = @code[BODY][index..].find { |element| element.is_a?(Array) && element[0] == :jump }
        @code[BODY].index(jump[1])
      end

      def move(name, operands)
        @stack.pop(taken(name, operands))
        case name
        when :putself then push_self
        when :pop, :nop, /\A(setlocal|branch)/ then nil
        when :dup then @stack.push(@stack.last)
        when :swap then @stack.push(*@stack.pop(2).reverse)
        when :setn then keep_below(operands[0])
        when LEAVES_ONE, *TAKES.keys, *COUNTED then @stack.push(nil)
        else @stack.clear
        end
        inner(operands) unless DEFINITIONS.include?(name)
      end

      # The value of an assignment, which is what the expression gives.
      def keep_below(depth)
        @stack[-1 - depth] = @stack.last if @stack.size > depth
      end

      def taken(name, operands)
        return operands[0] if COUNTED.include?(name)

        TAKES[name] || (name == :pop || name.start_with?("setlocal", "branch") ? 1 : 0)
      end

      def push_self
        @bare += 1
        @stack.push(@mine)
      end

      def inner(operands, mine = @mine)
        operands.each { |operand| Instructions.new(operand, @visitor, mine).visit if code?(operand) }
      end

      def code?(operand) = operand.is_a?(Array) && operand.first == FORMAT
    end

    # Reads from a block's instructions alone which variables of its surroundings it uses, and whether it uses self.
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
