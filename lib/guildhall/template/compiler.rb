# frozen_string_literal: true

require_relative "../shareable"
require_relative "errors"
require_relative "view"

module Guildhall
  class Template
    # @api private
    # Makes a class of a template: its instances are what self is inside the template, and have it as a method. Main Ractor only.
    # Workers come to know the class when it is complete.
    class Compiler
      # The variable that engines write to.
      BUFFER = "_guildhall_out"
      REASONS = 3
      # Of instructions, as Ruby shows them.
      LINE = /\(\s*(\d+)\)(?:\[\w+\])?$/
      DEFINITION = /\A\d+ defines?method\b/
      # What `-%>` leaves in Ruby without the trim mode for it.
      UNTRIMMED = /-\s*(?:;|\)\)|$)/
      private_constant :REASONS, :LINE, :DEFINITION, :UNTRIMMED

      # @param ruby [String] what the engine has made: one line for each line of the template
      def initialize(source, ruby, parameters:, escape:, helpers:)
        @source = source
        @ruby = ruby
        @parameters = parameters
        @escape = escape
        @helpers = helpers
      end

      # @raise [TemplateError] for invalid Ruby
      # @raise [IsolationError] for what touches what a worker may not
      def view
        view = Class.new(View)
        view.set_temporary_name("template #{@source.name}")
        view.include(*@helpers) if @helpers.any?
        view.class_eval(code, @source.name, first_line)
        refuse_definitions(view)
        inspect!(view)
      rescue SyntaxError
        raise syntax_error
      end

      private

      # Parameters may be several lines; so may what is before them.
      def first_line = 1 - @parameters.count("\n") - magic_comment.count("\n")

      # Ruby looks for it in the first line only.
      def magic_comment
        value = @source.frozen_string_literal
        value ? "# frozen_string_literal: #{value}\n" : ""
      end

      # All other generated code is in the template's first line, so that lines keep their numbers.
      def code
        "#{magic_comment}def self.call(locals) = new.guildhall_render(**locals);def guildhall_partials = GUILDHALL_PARTIALS;" \
        "def guildhall_escapes? = #{@escape};" \
        "def guildhall_render(#{@parameters});#{BUFFER} = @guildhall_out = +'';".encode(@source.text.encoding) <<
          @ruby << "\n#{BUFFER};end;private :guildhall_partials, :guildhall_escapes?\n"
      end

      def syntax_error
        require "prism"
        wrong = wrong_locals || wrong_ruby
        line = wrong.first.location.start_line.clamp(1, [@source.text.lines.size, 1].max)
        TemplateError.new("no valid Ruby: #{wrong.map(&:message).uniq.first(REASONS).join("; ")}#{trim_hint}", @source, line)
      end

      def trim_hint
        "; `-%>` needs the trim mode \"-\"" if @source.text.include?("-%>") && @ruby.match?(UNTRIMMED)
      end

      def wrong_locals
        return if Prism.parse("def render(#{@parameters});end").success?

        raise Guildhall::ArgumentError, "#{@source.name}: locals are (#{@parameters}), which no method can have"
      end

      # A stray `end` closes the method, and only without that has a line of its own; other things are wrong only inside it.
      def wrong_ruby
        alone = Prism.parse(@ruby).errors.reject { |error| error.type == :invalid_yield }
        located(alone.empty? ? Prism.parse(code, line: first_line).errors : alone)
      end

      # What is not closed is complained about at the end of the text first, and then where it begins.
      def located(errors)
        beginnings = errors.reject { |error| error.type == :unexpected_token_close_context }
        beginnings.empty? ? errors : beginnings
      end

      # Each rendering would redefine a method of a shared class, in several Ractors at once, which crashes Ruby 3.4.
      def refuse_definitions(view)
        line = nil
        RubyVM::InstructionSequence.of(view.instance_method(:guildhall_render)).disasm.each_line do |instruction|
          line = instruction[LINE, 1]&.to_i || line
          if instruction.match?(DEFINITION)
            raise TemplateError.new("a template must not define methods; use a module: helpers: [...]", @source,
              line)
          end
        end
      end

      def inspect!(view)
        findings = Inspection.of(view).findings
        return view if findings.empty?

        mine = findings.find { |finding| finding.file == @source.name }
        raise IsolationError.new(["#{@source.name} cannot be rendered on workers, and so nowhere: #{findings.join("; ")}",
                                  mine && @source.excerpt(mine.line)].compact.join("\n"), findings:)
      end
    end
    private_constant :Compiler
  end
end
