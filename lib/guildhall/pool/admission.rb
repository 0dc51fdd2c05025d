# frozen_string_literal: true

module Guildhall
  class Pool
    # Admits tasks, wherever their payloads will run, and makes them runnable: what cannot run on a worker is refused here, before
    # anything runs. Starts nothing. What is known is kept by code, so that a lambda written at the call is read once, not once a call.
    #
    # Used in the main Ractor, by any number of its threads, and without a lock, so that traps may dispatch: at worst the same is
    # found out twice.
    class Admission
      MAX_REMEMBERED = 512 # tasks, codes, literals; the oldest is forgotten first
      private_constant :MAX_REMEMBERED

      # Runnables of tasks that need not be looked at again; of literals that depend on nothing around them, by their instructions.
      # Read by C, too.
      attr_reader :known

      def initialize
        @known = {}.compare_by_identity
        @codes = {} # by what CodeKey gives
        @literals = {}.compare_by_identity # by instructions
        @facts = Hash.new { |_, instructions| remember(@facts, instructions, Inspection::Block.new(instructions)) }.compare_by_identity
      end

      # @return [Runnable] of this task, or of another one of the same code that captures nothing
      # @raise [NotShareableError] naming the path to what cannot be shared
      # @raise [IsolationError] naming what a worker may not touch
      # @raise [Guildhall::ArgumentError] for what cannot be called
      def [](task)
        runnable = @known[task] || (Proc === task ? admit_block(task) : admit(task))
        runnable.code.check!
        runnable
      end

      # @return [Hash{Integer=>String}] the names of codes by their numbers
      def names
        @codes.values.to_h { |code| [code.number, code.name] }
      end

      # @param task [#call] shareable
      # @param receiver [Object, nil] self of a block
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

        @known[instructions] || @literals[instructions]&.runnable(block) || learn(block, instructions)
      end

      # What a block captures may differ each time: it is checked again, and its code is known.
      def learn(block, instructions)
        facts = @facts[instructions]
        shareable = Shareable::Block.new(block, "task", facts)
        runnable = runnable(shareable.make, code_of(block), shareable.self_to_keep)
        return remember(@known, instructions, runnable) if facts.independent? && Shareable::Block::SELF_CAN_GO

        literal = @literals[instructions] || remember(@literals, instructions, Literal.new(facts))
        literal.learn(block, runnable)
      end

      # @raise [IsolationError]
      def code_of(task)
        key = CodeKey.of(task, @facts)
        reason = task.inline_reason if !(Proc === task) && task.respond_to?(:inline_reason)
        key = [key, reason] if reason
        (@codes[key] || remember(@codes, key, read(task, reason))).check!
      end

      # What runs in the main Ractor only may touch what a worker may not, and what it returns may be part of that.
      def read(task, reason)
        inspection = Inspection.of(task).check! unless reason
        Code.build(Inspection.name_of(task), reason || inspection.keeps_state?, reason || inspection.own?, reason)
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
  end
end
