# frozen_string_literal: true

require "strscan"

module Guildhall
  class Schema
    module Pattern
      # Reads an expression.
      class Parser
        MOST_LEVELS = 200
        QUANTIFIER = /([*+?])(\?)?|\{(\d+)(?:(,)(\d*))?\}(\?)?/u
        NAME = /[\p{ID_Start}$_](?:[\p{ID_Continue}$]|[\u200c\u200d])*/
        CONTROLS = {"t" => 0x9, "n" => 0xa, "v" => 0xb, "f" => 0xc, "r" => 0xd, "0" => 0}.freeze
        sets = {"d" => Characters::DIGITS, "w" => Characters::WORD, "s" => Characters::SPACE}
        CLASSES = Ractor.make_shareable(sets.merge(sets.to_h { |letter, ranges| [letter.upcase, Characters.complement(ranges)] }))
        ANY = Character.new(Characters.source(Characters::LINE_ENDS, negative: true))
        START = Assertion.new('\A')
        FINISH = Assertion.new('\z')
        BOUNDARIES = Ractor.make_shareable(%w[b B].to_h { |letter| [letter, Assertion.new("(?a:\\#{letter})")] })
        private_constant :MOST_LEVELS, :QUANTIFIER, :NAME, :CONTROLS, :CLASSES, :ANY, :START, :FINISH, :BOUNDARIES

        # @raise [Error]
        def initialize(source)
          @source = SharedRegexp.utf8(source) or raise Error, "not a text: #{source.inspect}"
          @scanner = StringScanner.new(@source)
          @groups = 0
          @names = {} # name => number of a group
          @references = []
          @levels = 0
        end

        # @return [Array(Object, Hash{String=>Integer})] the tree, and the numbers of named groups
        # @raise [Error]
        def parse
          tree = choice
          fail!("a parenthesis too many") unless @scanner.eos?
          @references.each { |target| check_reference(target) }
          [tree, @names]
        end

        private

        def choice
          branches = [sequence]
          branches << sequence while @scanner.skip("|")
          branches.size == 1 ? branches.first : Choice.new(branches)
        end

        def sequence
          items = []
          items << term until @scanner.eos? || @scanner.check(/[|)]/u)
          items.size == 1 ? items.first : Sequence.new(items)
        end

        def term
          fail!("nothing to repeat") if @scanner.check(QUANTIFIER)
          atom = self.atom
          return atom unless @scanner.scan(QUANTIFIER)

          fail!("a condition is repeated") if atom.is_a?(Assertion) || atom.is_a?(Lookaround)
          repetition(atom)
        end

        def repetition(atom)
          sign, lazy, least, comma, most, lazy_braces = @scanner.captures
          least, most = sign ? {"*" => [0, nil], "+" => [1, nil], "?" => [0, 1]}.fetch(sign) : bounds(least, comma, most)
          fail!("numbers out of order in a repetition") if most && most < least
          Repetition.new(least, most, !(lazy || lazy_braces).nil?, atom)
        end

        def bounds(least, comma, most)
          least = least.to_i
          return [least, least] unless comma

          [least, most.empty? ? nil : most.to_i]
        end

        def atom
          if @scanner.skip("\\") then escape
          elsif @scanner.skip("[") then character_class
          elsif @scanner.skip("(") then group
          elsif @scanner.skip("^") then START
          elsif @scanner.skip("$") then FINISH
          elsif @scanner.skip(".") then ANY
          else one(@scanner.getch.ord)
          end
        end

        def one(number) = Character.new(Characters.source([number..number]))

        def group
          @levels += 1
          fail!("parentheses deeper than #{MOST_LEVELS} levels") if @levels > MOST_LEVELS
          made = opened
          @scanner.skip(")") or fail!("a group without an end")
          @levels -= 1
          made
        end

        def opened
          return capture unless @scanner.check(/\?/u)
          return Sequence.new([choice]) if @scanner.skip("?:") # a node of its own: it may be repeated whatever is in it
          return Lookaround.new(!@scanner[1].nil?, @scanner[2] == "!", choice) if @scanner.scan(/\?(<)?([=!])/u)

          @scanner.scan(/\?<(#{NAME})>/ou) or fail!("a group of a kind that ECMA-262 does not have")
          fail!("two groups of the name #{@scanner[1]}") if @names.key?(@scanner[1])
          @names[@scanner[1]] = @groups + 1
          capture
        end

        def capture
          number = @groups += 1
          Group.new(number, choice)
        end

        def escape
          if @scanner.scan(/[bB]/u) then BOUNDARIES.fetch(@scanner.matched)
          elsif @scanner.scan(/[1-9]\d*/u) then refer(@scanner.matched.to_i)
          elsif @scanner.scan(/k<(#{NAME})>/ou) then refer(@scanner[1])
          else Character.new(Characters.source(*escaped_set.values_at(0, 1)))
          end
        end

        def refer(target)
          @references << target
          Reference.new(target)
        end

        def check_reference(target)
          known = target.is_a?(Integer) ? target <= @groups : @names.key?(target)
          raise Error, "a reference to group #{target}, which there is not: #{@source.inspect}" unless known
        end

        # An escape that stands for characters.
        # @return [Array(Array<Range>, Array<String>, Boolean)] ranges, properties, and whether it is a set rather than one character
        def escaped_set
          if @scanner.scan(/[dwsDWS]/u) then [CLASSES.fetch(@scanner.matched), [], true]
          elsif @scanner.scan(/([pP])\{(?:(\w+)=)?(\w+)\}/u) then [[], [property(*@scanner.captures)], true]
          else
            number = escaped_character
            [[number..number], [], false]
          end
        end

        def property(letter, name, value)
          found = Properties.find(name, value) or fail!("a property of Unicode that ECMA-262 does not have")
          "\\#{letter}{#{found}}"
        end

        def escaped_character
          if @scanner.scan(/u([dD][89abAB]\h\h)\\u([dD][c-fC-F]\h\h)/)
            0x10000 + ((@scanner[1].hex - 0xd800) << 10) + (@scanner[2].hex - 0xdc00)
          elsif @scanner.scan(/u(\h{4})|u\{0*(\h{1,6})\}|x(\h\h)/u) then code_point(@scanner.captures.compact.first.hex)
          elsif @scanner.scan(/c([A-Za-z])/u) then @scanner[1].ord % 32
          elsif @scanner.scan(/0(?!\d)|[tnvfr]/u) then CONTROLS.fetch(@scanner.matched)
          elsif @scanner.scan(/[^\p{Alnum}]/mu) then @scanner.matched.ord
          else fail!("an escape that ECMA-262 does not have")
          end
        end

        def code_point(number)
          fail!("half of a surrogate pair") if number.between?(0xd800, 0xdfff)
          fail!("a character beyond Unicode") if number > 0x10ffff
          number
        end

        def character_class
          negative = @scanner.skip("^")
          ranges = []
          properties = []
          until @scanner.skip("]")
            found, named = class_member
            ranges.concat(found)
            properties.concat(named)
          end
          Character.new(Characters.source(ranges, properties, negative: !negative.nil?))
        end

        # One character or set, or two characters with a hyphen between them.
        def class_member
          first, named, set = class_atom
          return [first, named] unless @scanner.check(/-[^\]]/mu)

          @scanner.skip("-")
          last, other_named, other_set = class_atom
          fail!("a property on one side of a hyphen") if named.any? || other_named.any?
          return [[*first, 0x2d..0x2d, *last], []] if set || other_set

          fail!("a range from a later character to an earlier one") if last.first.begin < first.first.begin
          [[first.first.begin..last.first.begin], []]
        end

        def class_atom
          fail!("a class without an end") if @scanner.eos?
          unless @scanner.skip("\\")
            number = @scanner.getch.ord
            return [[number..number], [], false]
          end

          @scanner.skip("b") ? [[0x8..0x8], [], false] : escaped_set
        end

        def fail!(reason)
          raise Error, "#{reason}, at character #{@scanner.charpos}: #{@source.inspect}"
        end
      end
    end
  end
end
