# frozen_string_literal: true

module Guildhall
  class Pool
    # What two tasks have in common that are made of the same code: the same instructions for blocks, the same class for objects,
    # and the same for what they capture or hold and may call. Data makes no difference.
    module CodeKey
      MAX_DEPTH = 4 # what lies deeper is the same only if it is the same object
      private_constant :MAX_DEPTH

      class << self
        # @param facts [Hash{RubyVM::InstructionSequence=>Inspection::Block}] what is known of blocks, or finds it out
        # @return [Object] to be compared with `eql?`; nil for data
        def of(task, facts, depth = 0)
          case task
          when Proc then of_block(task, facts, depth)
          when Module then task
          when Task::PerWorker then [Task::PerWorker, task.tool]
          else of_object(task, facts, depth)
          end
        end

        # @return [Array<#call>] what a block captures and may call
        def callables_around(binding, variables)
          variables.filter_map do |name|
            value = binding.local_variable_get(name) if binding.local_variable_defined?(name)
            value if value.respond_to?(:call)
          end
        end

        private

        def of_block(block, facts, depth)
          instructions = RubyVM::InstructionSequence.of(block)
          return block unless instructions

          fact = facts[instructions]
          return instructions if fact.independent?

          binding = block.binding
          held = callables_around(binding, fact.variables)
          return instructions if held.empty? && !fact.uses_self

          [instructions, (binding.receiver.class if fact.uses_self), *codes_of(held, facts, depth)]
        rescue ::ArgumentError # unknown for a shareable block what it holds
          block
        end

        def of_object(object, facts, depth)
          [object.singleton_methods(false).empty? ? object.class : object, *codes_of(Inspection.callables_of(object), facts, depth)]
        end

        def codes_of(held, facts, depth)
          depth < MAX_DEPTH ? held.map { |value| of(value, facts, depth + 1) } : held
        end
      end
    end
  end
end
