# frozen_string_literal: true

module Guildhall
  class Pool
    # Admits tasks and makes them runnable. What cannot run on a worker is refused here, before anything runs, wherever its payloads
    # would run. Starts nothing. It knows tasks by their code, so that a lambda written at the call is read once, not once a call.
    #
    # Used in the main Ractor, by any number of its threads, and without a lock, so that traps may dispatch: at worst the same
    # task is read twice.
    # @api private
    class TaskRegistry
      MAX_REMEMBERED = 512 # tasks, codes, inline blocks; the oldest is forgotten first
      private_constant :MAX_REMEMBERED

      # Runnables of tasks that need no second look; of blocks that depend on nothing around them, by their instructions. inline_run.c
      # reads this variable.
      attr_reader :known

      def initialize
        @known = {}.compare_by_identity
        @codes = {} # by what CodeIdentity gives
        @inline_blocks = {}.compare_by_identity # by instructions
        @facts = Hash.new { |_, instructions| remember(@facts, instructions, Inspection::Block.new(instructions)) }.compare_by_identity
      end

      # @return [Runnable] of this task, or of another one of the same code that captures nothing
      def [](task)
        runnable = @known[task] || (Proc === task ? admit_block(task) : admit(task))
        runnable.code.check!
        runnable
      end

      # @return [Hash{Integer=>String}] the names of codes by their numbers
      def names
        @codes.values.to_h { |code| [code.number, code.name] }
      end

      def runnable(task, code, receiver = nil)
        codec, rest = parts(task)
        address = codec&.native_decoder
        metadata = Callable.takes_metadata?(address && rest ? rest : task)
        stage = task.names.first if address && task.respond_to?(:names)
        Runnable.build(task, metadata, codec, address, rest, stage, preparer(task), code, receiver)
      end

      private

      def admit(task)
        shareable = Shareable.callable!(Callable.check!(task))
        remember(@known, task, runnable(shareable, code_of(task), Shareable.receiver_of(task)))
      end

      def admit_block(block)
        instructions = RubyVM::InstructionSequence.of(block) unless Ractor.shareable?(block)
        return admit(block) unless instructions

        @known[instructions] || @inline_blocks[instructions]&.runnable(block) || learn(block, instructions)
      end

      # A block may capture something else each time, so it is checked again; its code is known.
      def learn(block, instructions)
        facts = @facts[instructions]
        shareable = Shareable::Block.new(block, "task", facts)
        runnable = runnable(shareable.make, code_of(block), shareable.self_to_keep)
        return remember(@known, instructions, runnable) if facts.independent? && Shareable::Block::SELF_CAN_GO

        inline_block = @inline_blocks[instructions] || remember(@inline_blocks, instructions, InlineBlock.new(facts))
        inline_block.learn(block, runnable)
      end

      def code_of(task)
        key = CodeIdentity.of(task, @facts)
        reason = task.inline_reason if !(Proc === task) && task.respond_to?(:inline_reason)
        key = [key, reason] if reason
        (@codes[key] || remember(@codes, key, read(task, reason))).check!
      end

      # A task that runs in the main Ractor only may touch anything, and return a part of it: it is not inspected, and its results are
      # copied.
      def read(task, reason)
        inspection = Inspection.of(task).check! unless reason
        TaskCode.build(Inspection.name_of(task), reason || inspection.keeps_state?, reason || inspection.own?, reason)
      end

      # A pipeline answers `prepare` for its codec, whether or not that one does.
      def preparer(task)
        of = task.respond_to?(:decoder) && task.decoder ? task.decoder : task
        of if of.respond_to?(:prepare)
      end

      # A codec first, which may be native, and what comes after it.
      def parts(task)
        return [task, nil] if task.respond_to?(:native_decoder)
        return [task.decoder, task.rest] if task.respond_to?(:decoder) && task.decoder

        [nil, nil]
      end

      def remember(where, key, value)
        where.shift if where.size >= MAX_REMEMBERED
        where[key] = value
      end
    end

    # A block that is written at a call, so that Ruby makes a new one each time. If a later one captures only data, and its self is of the
    # same class, it runs as the one that was admitted first.
    # @api private
    class InlineBlock
      MAX_CLASSES = 16 # of self
      private_constant :MAX_CLASSES

      def initialize(facts)
        @facts = facts
        @self_matters = facts.uses_self || !Shareable::Block::SELF_CAN_GO
        @admitted = {}.compare_by_identity # by self's class, where that matters
      end

      # Returns the Runnable as which the block was admitted.
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
        CodeIdentity.callables_around(surroundings, @facts.variables).any?
      end

      def shareable(block, receiver)
        return Ractor.make_shareable(block.dup) unless Shareable::Block::SELF_CAN_GO

        block.lambda? ? Ractor.shareable_lambda(self: receiver, &block) : Ractor.shareable_proc(self: receiver, &block)
      end
    end

    # Identifies the code of a task: the instructions of a block, the class of an object, and the same of what it captures or holds and
    # may call. Tasks that differ only in data have the same identity.
    # @api private
    module CodeIdentity
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
