# frozen_string_literal: true

require_relative "../errors"
require_relative "../suggestion"

module Guildhall
  class Template
    # @api private
    # The locals that a template takes: those it needs, those it may be given, and their defaults. Frozen and shareable.
    class Signature
      # As Rails has it, in a comment of the template: `<%# locals: (user:, items: []) -%>`. Its end is known of ERB alone.
      COMMENT = %r{^\s*(?:<%-?\#\s*locals:\s*(?<list>\(.*?)(?:%>|\z)|(?:-\#|/\#?!?|%\#)\s*locals:\s*(?<list>\(.*))}m
      NAME = /\A(?![0-9])[[:alnum:]_]+\z/
      WORDS = %w[alias and begin break case class def defined? do else elsif end ensure false for if in module next nil not or redo
                 rescue retry return self super then true undef unless until when while yield __FILE__ __LINE__ __ENCODING__ __END__].freeze
      private_constant :COMMENT, :NAME, :WORDS

      # @param locals [Array<Symbol>, String, nil] names; or parameters as in a `def`; nil: the template's comment says
      # @return [String] the parameters of the method
      # @raise [Guildhall::ArgumentError]
      def self.parameters(locals, source)
        case locals
        when nil then declared(source)
        when String then closed(locals, source)
        when Array then locals.map { |name| "#{checked(name, source)}:" }.join(", ")
        else raise Guildhall::ArgumentError, "#{source.name}: locals must be an Array of names, not #{locals.class}"
        end
      end

      def self.declared?(source) = source.text.match?(COMMENT)

      # @return [Boolean] whether it can be the name of a local variable
      def self.name?(name)
        text = name.to_s
        text.match?(NAME) && !text.match?(/\A(?:[[:upper:]]|_[1-9]\z|_?guildhall_)/) && !WORDS.include?(text)
      end

      # Where the list closes, Ruby's parser knows: strings may contain parentheses.
      def self.declared(source)
        return "" unless (comment = source.text.match(COMMENT))

        require "prism"
        text = comment[:list]
        method = Prism.parse("def a#{text}", encoding: text.encoding).value.statements.body.first
        closing = method.rparen_loc if method.is_a?(Prism::DefNode)
        return text.byteslice(1...(closing.start_offset - "def a".bytesize)) if closing&.slice == ")"

        line = comment.pre_match.count("\n") + 1
        raise Guildhall::ArgumentError, "#{source.name}:#{line}: the comment with its locals cannot be read: #{text.lines.first.strip}"
      end

      # The text itself, which must not end the list and go on with something else.
      def self.closed(locals, source)
        require "prism"
        head = "def a("
        method = Prism.parse("#{head}#{locals}\n);end", encoding: locals.encoding).value.statements.body.first
        closing = method.rparen_loc if method.is_a?(Prism::DefNode)
        return locals if closing.nil? || closing.start_offset == head.bytesize + locals.bytesize + 1

        raise Guildhall::ArgumentError, "#{source.name}: locals are (#{locals}), which no method can have"
      end

      def self.checked(name, source)
        return name.to_s if name?(name)

        raise Guildhall::ArgumentError, "#{source.name}: #{name.inspect} cannot be the name of a local variable"
      end
      private_class_method :checked, :closed, :declared

      # @return [Array<Symbol>] what must be given
      attr_reader :required
      # @return [Array<Symbol>] all that may be given
      attr_reader :names

      # @param method [UnboundMethod] of the template
      def initialize(source, method)
        @source = source
        kinds = method.parameters.group_by(&:first).transform_values { |pairs| pairs.map(&:last).freeze }
        @required = kinds.fetch(:keyreq, [].freeze)
        @names = [*@required, *kinds[:key]].freeze
        @open = kinds.key?(:keyrest)
        refuse("locals are keywords: `user:, items: []`") if kinds.keys.intersect?(%i[req opt rest block])

        freeze
      end

      # @param locals [Hash, #to_hash] keys are Symbols or Strings
      # @raise [Guildhall::ArgumentError] naming all that is missing or unknown
      def check(locals)
        locals = named(locals)
        return locals if locals.size == @names.size && @names.all? { |name| locals.key?(name) }

        missing = @required.reject { |name| locals.key?(name) }
        unknown = @open ? [] : locals.keys - @names
        missing.empty? && unknown.empty? ? locals : complain(missing, unknown)
      end

      # Of a layout.
      # @param locals [Hash] that the page was given
      # @return [Hash{Symbol=>Object}] those that this template takes
      # @raise [Guildhall::ArgumentError] naming all that is missing
      def own(locals)
        locals = @open ? named(locals) : named(locals).slice(*@names)
        missing = @required.reject { |name| locals.key?(name) }
        return locals if missing.empty?

        refuse("missing #{list(missing)}; a layout gets the locals that the page was given, and not the page's defaults")
      end

      private

      def named(locals)
        unless locals.is_a?(Hash)
          refuse("locals must be a Hash, not #{Shareable.article(Shareable.type_of(locals))}") unless locals.respond_to?(:to_hash)
          locals = locals.to_hash
        end
        locals.each_key { |name| return locals.transform_keys(&:to_sym) unless name.is_a?(Symbol) }
        locals
      rescue NoMethodError, EncodingError
        refuse("the names of locals must be Symbols or valid Strings")
      end

      def complain(missing, unknown)
        complaints = ["missing #{list(missing)}"] unless missing.empty?
        hints = unknown.map { |name| "unknown local #{name}#{Suggestion.for(name, @names)}" }
        none = "; the template declares none: locals: [:#{unknown.first}]" if @names.empty?
        refuse([*complaints, *hints].join("; ") + none.to_s)
      end

      def list(names)
        "#{names.size == 1 ? "local" : "locals"} #{names.join(", ")}"
      end

      def refuse(reason)
        raise Guildhall::ArgumentError, "#{@source.name}: #{reason}"
      end
    end
    private_constant :Signature
  end
end
