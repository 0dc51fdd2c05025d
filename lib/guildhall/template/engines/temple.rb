# frozen_string_literal: true

require "temple"

module Guildhall
  class Template
    module Engines
      # What Haml and Slim have in common: the gem temple writes their Ruby.
      module Temple
        # Of a block that is given to a method: what it writes is HTML, if the template escapes. It is taken back from where everything
        # is written, so that {View#capture} finds it inside as well.
        class Capture < ::Temple::Generators::StringBuffer
          def create_buffer = "#{buffer} = #{Compiler::BUFFER}.bytesize; begin"

          # A `next`, a `break` and what is raised come by `ensure` alone.
          def return_buffer
            "guildhall_marked(#{buffer} = #{take}); ensure; #{take} if ::Integer === #{buffer}; end"
          end

          # What is one value alone would not be safe.
          def call(exp) = super([:multi, exp])

          def on_dynamic(code) = "guildhall_append(#{Compiler::BUFFER}, (#{code}))"

          def concat(text) = "#{Compiler::BUFFER} << (#{text})"

          private

          def take = "guildhall_take(#{Compiler::BUFFER}, #{buffer})"
        end

        # Writes to the buffer that is there.
        class Generator < ::Temple::Generators::StringBuffer
          set_options capture_generator: Capture

          def create_buffer = nil

          # What is one value alone would replace the buffer.
          def call(exp) = super([:multi, exp])

          def on_dynamic(code) = "guildhall_append(#{buffer}, (#{code}))"
        end

        OPTIONS = {buffer: Compiler::BUFFER, generator: Generator, escape_code: "::Guildhall::Escaping.escape((%s))"}.freeze

        # @param engine [#call] of temple
        def self.compile(engine, text)
          ruby = +engine.call(text)
          ruby.force_encoding(text.encoding)
        end

        # @raise [Guildhall::ArgumentError]
        def self.refuse_trim_mode(name, trim_mode)
          raise Guildhall::ArgumentError, "trim_mode is of ERB; engine: :#{name} has none" if trim_mode
        end
      end
    end
  end
end
