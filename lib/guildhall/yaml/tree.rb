# frozen_string_literal: true

require "stringio"

module Guildhall
  class YAML
    # Psych's writer, but that no text is written in a form that could be read as something else: by Psych, which takes "2016-09-31" for a
    # date and fails, or by a reader of another version of YAML, to which `on`, `0o17` and `1:30` are no texts.
    # @api private
    class Tree < Psych::Visitors::YAMLTree
      WORD = /\A(?:y|yes|n|no|on|off|true|false|null|~|=|[-+]?\.(?:inf|nan))\z/iu
      # Whatever a number, a date or a time is made of, in any base.
      NUMBER = /\A[-+.\d][-+.,:_\d\sA-FTZOX]*\z/iu
      # Characters that may stand without an escape: a reader may take the others for line breaks, or refuse them.
      PRINTABLE = /\A[\t\n -~\u00A1-\u1FFF\u2010-\u2027\u2030-\uD7FF\uE000-\uFDCF\uFDF0-\uFEFE\uFF00-\uFFFD\u{10000}-\u{1FFFD}]*\z/
      # Lines that a block shows as they are, without a mark for what begins or ends it.
      BLOCK = /\A(?=\S)(?:[^\n]*\S\n+)*[^\n]*\S\n?\z/u
      Scalar = Psych::Nodes::Scalar
      private_constant :WORD, :NUMBER, :PRINTABLE, :BLOCK, :Scalar

      # @param object [Object] as {Plain} makes it
      # @return [String] YAML
      def self.write(object)
        visitor = create
        visitor << object
        io = StringIO.new(String.new(encoding: Encoding::UTF_8))
        # Not by Node#yaml, which requires a library each time: a worker of Ruby 3.4 can hang then.
        Psych::Visitors::Emitter.new(io).accept(visitor.tree)
        io.string
      end

      def visit_String(text) # rubocop:disable Naming/MethodName -- Psych's name for it
        return super if text.encoding == Encoding::BINARY || text == "<<" || text.instance_of?(String) == false

        style = style(text)
        style ? @emitter.scalar(text, nil, nil, true, true, style) : super
      end

      private

      # @return [Integer, nil] nil: as Psych decides
      def style(text)
        return Scalar::DOUBLE_QUOTED unless text.match?(PRINTABLE)
        return text.match?(BLOCK) ? Scalar::LITERAL : Scalar::DOUBLE_QUOTED if text.include?("\n")
        return Scalar::DOUBLE_QUOTED if text.match?(/\A\s|\s\z|\t/u)

        Scalar::SINGLE_QUOTED if text.match?(WORD) || text.match?(NUMBER)
      end
    end
    private_constant :Tree
  end
end
