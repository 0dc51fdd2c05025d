# frozen_string_literal: true

require "erb"

module Guildhall
  class Template
    module Engines
      # Ruby's own, with what Rails adds to it: `<%==` does not escape.
      module Erb
        MODE = /\A%?(?:-|>|<>)?%?\z/
        private_constant :MODE

        # @param trim_mode [String, nil] as ERB.new takes it
        def self.call(text, escape:, trim_mode:)
          unless trim_mode.nil? || (trim_mode.is_a?(String) && trim_mode.match?(MODE))
            raise Guildhall::ArgumentError, "trim_mode is of \"%\" and one of \"-\", \">\", \"<>\", not #{trim_mode.inspect}"
          end

          ruby, = Escaping.new(trim_mode == "" ? nil : trim_mode, escape).compile(text)
          ruby.force_encoding(text.encoding)
        end

        # ERB's compiler, which leaves it to subclasses how values are written.
        class Escaping < ERB::Compiler
          def initialize(trim_mode, escape)
            super(trim_mode)
            self.put_cmd = "#{Compiler::BUFFER}.<<"
            @append = escape ? "guildhall_escape" : "guildhall_append"
          end

          def add_insert_cmd(out, content)
            raw = content.delete_prefix!("=")
            out.push(write(raw ? "guildhall_append" : @append, content))
          end

          private

          def write(writer, code)
            return BlockExpression.write(writer, code) if BlockExpression.begins?(code)

            "#{writer}(#{Compiler::BUFFER}, (#{code}))"
          end

          # Of Source's concern.
          def detect_magic_comment(*) = nil
        end
        private_constant :Escaping
      end
    end
  end
end
