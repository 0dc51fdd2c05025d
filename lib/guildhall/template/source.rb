# frozen_string_literal: true

require "pathname"
require_relative "../errors"
require_relative "../printable"
require_relative "../suggestion"
require_relative "../utf8_file"

module Guildhall
  class Template
    # @api private
    # The text of a template, and where it came from. Frozen and shareable.
    class Source
      EXTENSION = /\.(erb|rhtml|erubi|haml|slim)\z/
      # File extensions that are not HTML.
      PLAIN = /\.(?:text|txt|csv|md|yml|yaml|json|tex)(?:\.|\z)/
      CODING = %r{\A(?:<%#|-#|/|%#)[^\n]*?coding\s*[=:]\s*([[:alnum:]_-]+)}
      FROZEN = /<%#(?:(?!%>).)*?frozen[-_]string[-_]literal\s*:\s*(true|false)\b/im
      AROUND = 2
      WIDTH = 160
      private_constant :EXTENSION, :PLAIN, :CODING, :FROZEN, :AROUND, :WIDTH

      # @param given [String, Pathname] the text, or a path that ends as templates do
      # @param name [String, nil] what to call the text in messages; a path then is none
      # @raise [Guildhall::ArgumentError]
      def self.of(given, name = nil)
        return new(given, name) if name
        return read(given.to_s) if given.is_a?(Pathname) || path?(given)

        new(given, "(template)")
      end

      # @param name [String] what to call it in messages
      def self.read(path, name = path)
        new(Utf8File.read(path), name)
      rescue SystemCallError => error
        near = Dir[File.join(File.dirname(path), "*")]
        raise Guildhall::ArgumentError, "no template #{path} (#{error.class})#{Suggestion.for(path, near)}"
      end

      def self.path?(given)
        return false unless given.is_a?(String) && given.encoding.ascii_compatible? && given.valid_encoding?

        !given.match?(/[\n<\0]/) && given.match?(EXTENSION)
      end
      private_class_method :path?

      # @return [String] frozen
      attr_reader :text
      attr_reader :name

      def initialize(text, name)
        raise Guildhall::ArgumentError, "a template is a String or a Pathname, not #{text.class}" unless text.is_a?(String)

        @name = checked(name)
        @text = in_its_encoding(text)
        freeze
        check!
      end

      # @return [Symbol, nil] as the name's ending says
      def engine
        ending = name[EXTENSION, 1]
        ending == "rhtml" ? :erb : ending&.to_sym
      end

      # @return [Boolean] whether the name says that it is plain text, and not to be escaped
      def plain? = name.match?(PLAIN)

      # @return [String, nil] "true" or "false", as a comment says it: `<%# frozen_string_literal: true %>`, anywhere, as for ERB
      def frozen_string_literal = text.match?(/<%#/) ? text[FROZEN, 1]&.downcase : nil

      # @param line [Integer] from 1
      # @return [String, nil] this line and those around it, in UTF-8
      def excerpt(line)
        lines = Printable.utf8(text).lines
        return unless line.between?(1, lines.size)

        ([line - AROUND, 1].max..[line + AROUND, lines.size].min).map do |number|
          format("%s %4d: %s", number == line ? "=>" : "  ", number, lines[number - 1].chomp[0, WIDTH])
        end.join("\n").freeze
      end

      private

      def checked(name)
        raise Guildhall::ArgumentError, "name must be a String, not #{name.inspect}" unless name.is_a?(String)

        name = Printable.valid(name)
        raise Guildhall::ArgumentError, "name must not contain a null byte: #{name.inspect}" if name.include?("\0")

        name.freeze
      end

      # A comment in the first line may declare it, as in any Ruby file. What Ruby reads where no locale is set is called US-ASCII.
      def in_its_encoding(text)
        declared = text.b[CODING, 1]
        return (text.encoding == Encoding::US_ASCII ? text.dup.force_encoding(Encoding::UTF_8) : text.dup).freeze unless declared

        text.dup.force_encoding(Encoding.find(declared.sub(/-(?:mac|dos|unix)\z/i, ""))).freeze
      rescue ::ArgumentError => error
        raise Guildhall::ArgumentError, "#{name}: #{error.message}"
      end

      def check!
        raise Guildhall::ArgumentError, "#{name}: #{text.encoding} is not supported for templates" unless text.encoding.ascii_compatible?
        return if text.valid_encoding?

        line = text.lines.index { |one| !one.valid_encoding? } + 1
        raise Guildhall::ArgumentError, "#{name}:#{line} is not valid #{text.encoding}; " \
                                        "save it as UTF-8, or name its encoding in the first line: <%# coding: ISO-8859-1 %>"
      end
    end
    private_constant :Source
  end
end
