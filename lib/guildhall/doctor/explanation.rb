# frozen_string_literal: true

module Guildhall
  class Doctor
    # Makes a finding of what a task raised in a Ractor: Ruby's message, completed with variable, owner, line, and what to change.
    # The words are those of the analyser.
    # @api private
    class Explanation
      include Inspection::Findings

      CONSTANT = /non-shareable objects in constant (?:Object::)?([\w:]+)/
      GLOBAL = /access global variables? (\$\S+)/
      CLASS_VARIABLE = /class variables from non-main Ractors(?: \((@@\w+) from (.+)\))?/
      CLASS_VARIABLE_READ = /read non-shareable class variable (@@\w+) from non-main Ractors \((.+)\)/
      READ = /get unshareable values from instance variables of classes.modules from non-main Ractors(?: \((@\w+) from (.+)\))?/
      WRITE = /set instance variables of classes.modules/
      UNSHAREABLE_METHOD = "un-shareable Proc in a different Ractor"
      FRAME = /\A(\(eval at .+?:\d+\)|.+?):(\d+)/ # file and line
      LABEL = /in '(?:block (?:\(\d+ levels\) )?in )?(.+)'\z/
      CORE = /in '(?:Array|Hash|Integer|Range|Struct|Kernel|Enumerable|Enumerator)[#.]/ # which call blocks
      REFLECTION = /in '(?:Kernel#instance_variable_|Module#(?:class_variable_|const_))/ # the caller's frame says more
      private_constant :FRAME, :REFLECTION, :CORE, :CONSTANT,
        :GLOBAL, :CLASS_VARIABLE, :CLASS_VARIABLE_READ, :READ, :WRITE, :UNSHAREABLE_METHOD, :LABEL

      # @param visitor [Visitor] what it found on the same line is what it was
      def initialize(failure, visitor)
        @failure = innermost(failure)
        @visitor = visitor
        @findings = []
        @frame = @failure.backtrace.find { |frame| !frame.start_with?(__dir__) && !frame.match?(REFLECTION) }.to_s
        path, line = @frame.match(FRAME)&.captures
        @place = Inspection.place(path, line&.to_i)
      end

      def finding
        load_library
        read_on_that_line || (read_method && read_on_that_line) || explain
        found = @findings.first
        library?(@place.first) && !of_the_call? ? found.with(advice: Origin.advice_for(@place.first, found.advice)) : found
      end

      private

      def library?(file) = !file.nil? && Inspection.libraries.any? { |library| file.start_with?(library) }

      # Only the caller can change something then, wherever the error was raised.
      def of_the_call? = %w[SystemStackError FrozenError].include?(@failure.error_class)

      # The process that tried may have loaded a part of Ruby's library that was not needed until then.
      def load_library
        file = @place.first
        require file if library?(file) && File.extname(file) == ".rb" && !$LOADED_FEATURES.include?(file)
      rescue ScriptError, StandardError
        nil
      end

      # The error of Ruby's own that lies below those that others have made of it.
      def innermost(failure)
        inner = failure
        inner = inner.cause while inner.cause && !ractors?(inner)
        ractors?(inner) ? inner : failure
      end

      def ractors?(failure) = failure.error_class.match?(/\ARactor::|\ASystemStackError/)

      def read_on_that_line
        found = (@visitor.findings + @visitor.suspicions).find { |one| same?(one) }
        @findings << found if found
      end

      # Calls that could not be followed have led there.
      def read_method
        name = label[/[.#]([^.#]+)\z/, 1] or return
        @visitor.read_method(label.include?("#") ? owner_module : owner_module.singleton_class, name.to_sym)
        true
      end

      def same?(finding)
        return finding.problem.include?(Inspection::BLOCK_METHOD) if @failure.message.include?(UNSHAREABLE_METHOD)

        @failure.error_class == "Ractor::IsolationError" && [finding.file,
                                                             finding.line] == @place && @failure.message.include?(kind(finding))
      end

      # A word of Ruby's message about such a thing.
      def kind(finding)
        case finding.thing
        when /\A\$/ then "global"
        when /\A@@/ then "class variable"
        when /\A@/ then "instance variables"
        else finding.thing[/\w+\z/].to_s
        end
      end

      def explain
        case @failure.message
        when CONSTANT then constant(::Regexp.last_match(1))
        when GLOBAL then found_global(::Regexp.last_match(1), @place)
        when CLASS_VARIABLE then found_class_variable(
          ::Regexp.last_match(1) ? "#{::Regexp.last_match(1)} of #{::Regexp.last_match(2)}" : "a class variable of #{owner}", @place
        )
        when CLASS_VARIABLE_READ then found_class_variable("#{::Regexp.last_match(1)} of #{::Regexp.last_match(2)}", @place)
        when READ then unshareable_variable(::Regexp.last_match(1), ::Regexp.last_match(2))
        when WRITE then found_write(owner_module, "a variable", @place)
        when /#{UNSHAREABLE_METHOD}/ then find(label, @place, "calls a method that #{Inspection::BLOCK_METHOD}",
          "use def")
        else other
        end
      end

      def constant(name)
        names = name.split("::").map(&:to_sym)
        constants = Inspection::Constants.new([], load: true)
        found_constant(name, constants.value(names), @place, constants.home(names, name))
      rescue NameError
        find(name, @place, "is not shareable", "make it so: #{name[/\w+\z/]} = Ractor.make_shareable(…)")
      end

      def unshareable_variable(name, type)
        find(name ? "#{name} of #{type}" : "a variable of #{owner}", @place, "is not shareable", "use a frozen constant")
      end

      def other
        case @failure.error_class
        when "Ractor::UnsafeError" then unsafe
        when "SystemStackError" then too_deep
        when "FrozenError" then changes_payload
        else find(label, @place,
          "raises #{@failure.error_class}: #{Redaction.message(@failure.exception)} in a Ractor, and not in the main one",
          "look at what it takes for granted there")
        end
      end

      # In the main Ractor it did not raise for a payload that is not frozen.
      def changes_payload
        what = @failure.message[/\Acan't modify frozen [\w:]+/]
        find(label, @place, "changes its payload, and payloads are frozen: #{what}", "let it work on a copy (`payload.dup`)")
      end

      def unsafe
        origin = Origin.of(owner_module)
        problem, advice = origin&.unsafe
        find(label, @place, problem || "is written in C, and its extension does not say that it is safe to use in Ractors",
          advice || Inspection::CALL_ELSEWHERE)
      end

      def too_deep
        line = @failure.backtrace.grep_v(CORE).tally.max_by(&:last)&.first || @frame
        @place = [line[/\A(.+?):\d+/, 1] || @place[0], (line[/:(\d+)/, 1] || @place[1]).to_i]
        find(line[LABEL, 1] || "task", @place,
          "calls itself deeper than a worker's stack allows, which is smaller than that of the main Ractor",
          "start Ruby with a larger RUBY_THREAD_VM_STACK_SIZE and RUBY_THREAD_MACHINE_STACK_SIZE, or use a loop")
      end

      # "Oj.load" of "order.rb:3:in 'Oj.load'"
      def label = @frame[LABEL, 1] || "task"

      def owner = label[/\A(.+)[.#]/, 1] || "its module"

      def owner_module
        Object.const_get(owner)
      rescue NameError
        Object
      end
    end
  end
end
