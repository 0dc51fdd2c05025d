# frozen_string_literal: true

Guildhall::SoftDependency.require!("erubi", gem: "erubi", purpose: "engine: :erubi")

module Guildhall
  class Template
    module Engines
      # ERB as Rails compiles it.
      module Erubi
        # @param trim_mode [String, nil] nil: as Erubi has it, lines with nothing but a tag leave nothing; "": as they are
        def self.call(text, escape:, trim_mode:)
          engine = Engine.new(text, escape:, escapefunc: "h", trim: trim_mode != "", bufvar: Compiler::BUFFER, bufval: Compiler::BUFFER)
          engine.src.dup.force_encoding(text.encoding)
        end

        # Which leaves it to subclasses how values are written.
        class Engine < ::Erubi::Engine
          private

          def add_expression_result(code) = write("guildhall_append", code)

          def add_expression_result_escaped(code) = write("guildhall_escape", code)

          def write(writer, code)
            return @src << " " << BlockExpression.write(writer, code) if BlockExpression.begins?(code)

            @src << " #{writer}(#{Compiler::BUFFER}, (" << code << "));"
          end
        end
        private_constant :Engine
      end
    end
  end
end
