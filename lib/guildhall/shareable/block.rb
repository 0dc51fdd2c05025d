# frozen_string_literal: true

module Guildhall
  module Shareable
    # @api private
    # A block or lambda on its way to being shareable.
    class Block
      SELF_CAN_GO = Ractor.respond_to?(:shareable_proc) # Ruby 3.4 keeps the self of a block, and wants it to be shareable

      # @param name [String] what the caller calls it
      # @param facts [Inspection::Block, nil] of its instructions; nil: they are read when they are needed
      def initialize(block, name, facts = nil)
        @block = block
        @name = name
        @facts = facts
      end

      # @return [Proc] a shareable one that does the same
      # @raise [NotShareableError]
      def make
        SELF_CAN_GO ? isolated : Ractor.make_shareable(@block.dup)
      rescue ::ArgumentError, Ractor::IsolationError => error
        raise explained(error)
      rescue RuntimeError => error
        raise unless error.instance_of?(RuntimeError) # how Ruby refuses what has no instructions

        raise NotShareableError, "#{@name} is not shareable: it is made of a Method, or of code in C; use a block or a lambda that calls it"
      end

      # @return [Object, nil] self where it is shareable; nil where it is not, and not needed
      # @raise [NotShareableError] where it is needed
      def self_to_keep
        return @receiver if defined?(@receiver)

        @receiver = find_self
      end

      private

      def find_self
        return if SELF_CAN_GO && @facts && !@facts.uses_self
        return unless (instructions = RubyVM::InstructionSequence.of(@block))

        receiver = @block.binding.receiver
        return receiver if Ractor.shareable?(receiver)

        refuse_self if (@facts ||= Inspection::Block.new(instructions)).uses_self
      end

      def isolated
        receiver = self_to_keep
        @block.lambda? ? Ractor.shareable_lambda(self: receiver, &@block) : Ractor.shareable_proc(self: receiver, &@block)
      end

      # @return [nil] when what it uses of self is the same for every self
      def refuse_self
        finding = Inspection.of(@block).findings.find { |one| one.problem.start_with?(Inspection::NEEDS_SELF) }
        raise NotShareableError.new("#{@name}: #{finding}", path: "#{@name}.self") if finding
      end

      def explained(error)
        return self_error if error.message.include?("self is not shareable")

        variable = error.message[/variables? ['`(](\w+)/, 1]
        path = variable ? "#{@name}'s variable #{variable}" : @name
        NotShareableError.new("#{path} cannot be shared: #{error.message} (#{place}); " \
                              "use a frozen object with `call`, or let the block capture only shareable values", path: path)
      end

      def self_error
        NotShareableError.new("#{@name}'s self (#{Shareable.article(@block.binding.receiver.class)}) is not shareable (#{place}); " \
                              "on Ruby #{RUBY_VERSION} write the block in a class or module body, or use a frozen object with `call`",
          path: "#{@name}.self")
      end

      def place = @block.source_location&.join(":")
    end
  end
end
