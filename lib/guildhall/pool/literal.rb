# frozen_string_literal: true

module Guildhall
  class Pool
    # What is known of a block that is written at a call, and so is created each time: if another one captures only data,
    # and has a self of the same class, it runs as the one that was admitted.
    class Literal
      MAX_CLASSES = 16 # of self
      private_constant :MAX_CLASSES

      def initialize(facts)
        @facts = facts
        @self_matters = facts.uses_self || !Shareable::Block::SELF_CAN_GO
        @admitted = {}.compare_by_identity # by self's class, where that matters
      end

      # @param runnable [Runnable] as which the block was admitted
      # @return [Runnable] that one
      def learn(block, runnable)
        surroundings = block.binding
        unless calls_captured?(surroundings)
          @admitted.clear if @admitted.size >= MAX_CLASSES
          @admitted[(surroundings.receiver.class if @self_matters)] = runnable
        end
        runnable
      end

      # @return [Runnable, nil] nil: it has to be looked at
      def runnable(block)
        surroundings = block.binding
        receiver = surroundings.receiver if @self_matters
        admitted = @admitted[(receiver.class if @self_matters)]
        return unless admitted && same_kind?(admitted, block, receiver) && !calls_captured?(surroundings)

        receiver = nil if admitted.receiver.nil?
        same = !@facts.captures && (admitted.receiver.equal?(receiver) || !@facts.uses_self)
        same ? admitted : admitted.with(shareable(block, receiver), receiver)
      rescue ::ArgumentError, Ractor::IsolationError, RuntimeError
        nil # the check of the block explains why it cannot be shared
      end

      private

      def same_kind?(admitted, block, receiver)
        admitted.task.lambda? == block.lambda? &&
          (!@self_matters || receiver.nil? || Ractor.shareable?(receiver) != admitted.receiver.nil?)
      end

      # Other code than before, perhaps.
      def calls_captured?(surroundings)
        CodeKey.callables_around(surroundings, @facts.variables).any?
      end

      def shareable(block, receiver)
        return Ractor.make_shareable(block.dup) unless Shareable::Block::SELF_CAN_GO

        block.lambda? ? Ractor.shareable_lambda(self: receiver, &block) : Ractor.shareable_proc(self: receiver, &block)
      end
    end
  end
end
