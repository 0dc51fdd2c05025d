# frozen_string_literal: true

module Guildhall
  class YAML
    # Hears of a text's nodes before any object is made of them. Psych itself recurses as deep as a text says, until the
    # stack ends, which depends on where it runs; it cannot freeze a node that contains itself; and it converts numbers of any
    # length, and copies what is merged as often as the text says.
    # @api private
    class Outline < Psych::Handler
      # Unquoted, Psych makes numbers of these: an integer, perhaps in base 60, and a time's fraction of a second.
      INTEGER = /\A[-+]?\d[\d_,]*(?::[0-5]?\d){0,2}\z/u
      TIME = /\A-?\d{4}-\d{1,2}-\d{1,2}(?:[Tt]|\s+)\d{1,2}:\d\d:\d\d\.(\d+)/u
      # Of these tags Ruby's numbers are made, of which some have exponents.
      TAGS = %r{\A!ruby/(?:object:(?:BigDecimal|Complex|DateTime|Rational)\z|range)}u
      NUMBER = /\d[\d_]*(?:\.[\d_]+)?(?:[ed][-+]?\d+)?/iu
      # What libyaml compares each directive with: all before it.
      DIRECTIVES = 100
      HEAD = /\A\uFEFF?(?:[ \t]*(?:#.*)?\r?\n)*+%/
      private_constant :INTEGER, :TIME, :TAGS, :NUMBER, :DIRECTIVES, :HEAD

      # @raise [DecodeError] with line and column
      # @raise [Psych::SyntaxError]
      def self.check(text, max_nesting:, max_digits:, max_aliased:)
        check_directives(text)
        catch(:end) { Psych::Parser.new(new(max_nesting, max_digits, max_aliased)).parse(text) }
      end

      # Those of the first document, the only one that is read.
      def self.check_directives(text)
        return unless text.match?(HEAD)

        count = 0
        text.each_line.with_index(1) do |line, number|
          break unless line.match?(/\A\uFEFF?\s*(?:[%#]|\z)/)

          refuse("more than #{DIRECTIVES} directives", number, 1) if line.start_with?("%") && (count += 1) > DIRECTIVES
        end
      end

      # @raise [DecodeError]
      def self.refuse(reason, line, column)
        raise DecodeError.new(reason, codec: "YAML", line:, column:)
      end
      private_class_method :check_directives

      def initialize(max_nesting, max_digits, max_aliased)
        super()
        @max_nesting = max_nesting
        @max_digits = max_digits
        @max_aliased = max_aliased
        @open = []     # numbers of the nodes that are not complete
        @names = []    # their anchors
        @weights = [0] # how many nodes each has so far, aliases as what they stand for; the first: of the document
        @anchors = {}  # => the number of the node
        @anchored = {} # => its weight
        @nodes = @aliased = 0
      end

      def event_location(line, column, _, _)
        @line = line + 1
        @column = column + 1
      end

      def start_sequence(anchor, *) = enter(anchor)
      def start_mapping(anchor, *) = enter(anchor)
      def end_sequence = leave
      def end_mapping = leave

      def scalar(value, anchor, tag, _plain, quoted, _style)
        refuse(Digits.refusal(@max_digits)) unless quoted || short?(value, tag)
        name(anchor) if anchor
        @weights[-1] += 1
      end

      def alias(anchor)
        refuse("*#{anchor} is an alias of its own parent") if @open.include?(@anchors.fetch(anchor, 0))
        weight = @anchored.fetch(anchor, 1)
        @weights[-1] += weight
        refuse("aliases stand for more nodes than max_aliased, #{@max_aliased}") if (@aliased += weight) > @max_aliased
      end

      # Psych loads the first document only.
      def end_document(*) = throw(:end)

      private

      def enter(anchor)
        refuse("nested deeper than max_nesting, #{@max_nesting}") if @open.size == @max_nesting
        @open << (@nodes += 1)
        @names << anchor
        @weights << 1
        @anchors[anchor] = @nodes if anchor
      end

      # From here on the name means this scalar, also where a node that is not complete has it.
      def name(anchor)
        @anchors.delete(anchor)
        @anchored[anchor] = 1
      end

      def leave
        @open.pop
        anchor = @names.pop
        weight = @weights.pop
        @anchored[anchor] = weight if anchor
        @weights[-1] += weight
      end

      def short?(value, tag)
        return value.scan(NUMBER).all? { |number| Digits.in_text(number) <= @max_digits } if tag&.match?(TAGS)
        return true if value.bytesize <= @max_digits

        (value[INTEGER] || value[TIME, 1]).to_s.count("0-9") <= @max_digits
      end

      def refuse(reason) = Outline.refuse(reason, @line, @column)
    end
    private_constant :Outline
  end
end
