# frozen_string_literal: true

require "strscan"

module Guildhall
  class Schema
    # Regular expressions of ECMA-262 (with the flag u) as Ruby's: the same language where Ruby's can express it.
    #
    # Different on purpose: letters and digits mean ASCII in `\d`, `\w` and `\b`, as they do there; what Ruby would take
    # for more than ECMA-262 says (`&&` and `[:alpha:]` in classes, `a++`, `{,3}`, `(?>…)`) is escaped or refused.
    # Not possible: look-behind of unlimited length, back references to named groups beside numbered groups.
    class Pattern
      # The expression is not valid, or Ruby cannot express it.
      class Error < StandardError
        include Guildhall::Error
      end

      # The format "regex".
      module Format
        # @return [Boolean]
        def self.call(source)
          Pattern.compile(source)
          true
        rescue Error
          false
        end
      end

      SPACE = '\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff'
      LINE = '\n\r\u2028\u2029'
      CLASSES = {"d" => "0-9", "w" => "0-9A-Za-z_", "s" => SPACE}.freeze
      CONTROLS = {"t" => '\t', "n" => '\n', "v" => '\v', "f" => '\f', "r" => '\r', "0" => '\x00'}.freeze
      GROUPS = /\(\?(?::|=|!|<=|<!|<[[:alpha:]_$][\p{Alnum}_$]*>)/
      QUANTIFIER = /[*+?]\??|\{\d+(?:,\d*)?\}\??/
      private_constant :SPACE, :LINE, :CLASSES, :CONTROLS, :GROUPS, :QUANTIFIER

      # @param source [String]
      # @param timeout [Numeric, nil] seconds a match may take; nil: as long as Regexp.timeout says
      # @return [Regexp] frozen, and shareable
      # @raise [Error]
      def self.compile(source, timeout: nil)
        Ractor.make_shareable(Regexp.new(new(source).translate, timeout:))
      rescue RegexpError => error
        raise Error, error.message
      end

      # @param source [String]
      def initialize(source)
        @scanner = StringScanner.new(source)
        @out = +""
      end

      # @return [String] for Regexp.new
      # @raise [Error]
      def translate
        term until @scanner.eos?
        @out
      end

      private

      def term
        if @scanner.scan("\\") then escape
        elsif @scanner.scan("[") then character_class
        elsif @scanner.scan("(") then group
        elsif @scanner.scan(QUANTIFIER) then quantifier
        else character(@scanner.getch)
        end
      end

      def quantifier
        @out << @scanner.matched
        fail!("nothing to repeat") if @scanner.check(QUANTIFIER)
      end

      def group
        @scanner.unscan
        return @out << @scanner.matched if @scanner.scan(GROUPS)

        fail!("a group of a kind that ECMA-262 does not have") if @scanner.check(/\(\?/)
        @out << @scanner.getch
      end

      def character(character)
        @out << case character
                when "^" then '\A'
                when "$" then '\z'
                when "." then "[^#{LINE}]"
                when "{", "}", "]", "#", " " then "\\#{character}"
                else character
                end
      end

      def escape
        @out << if @scanner.scan(/[dws]/) then "[#{CLASSES.fetch(@scanner.matched)}]"
                elsif @scanner.scan(/[DWS]/) then "[^#{CLASSES.fetch(@scanner.matched.downcase)}]"
                elsif @scanner.scan(/[bB]/) then "(?a:\\#{@scanner.matched})"
                elsif @scanner.scan(/[1-9]\d*/) then "(?:\\#{@scanner.matched})"
                elsif @scanner.scan(/k<[^>]+>/) then "\\#{@scanner.matched}"
                else literal
                end
      end

      # What means the same inside and outside of a class.
      def literal
        if @scanner.scan(/[pP]\{(\^?)(?:(?:General_Category|gc|Script|sc|Script_Extensions|scx)=)?(\w+)\}/) then property
        elsif @scanner.scan(/u([dD][89abAB]\h\h)\\u([dD][c-fC-F]\h\h)/) then surrogates
        elsif @scanner.scan(/u(\h{4})|u\{(\h{1,6})\}|x(\h\h)/) then code_point(@scanner.captures.compact.first.hex)
        elsif @scanner.scan(/c([A-Za-z])/) then code_point(@scanner[1].ord % 32)
        elsif @scanner.scan(/0(?!\d)|[tnvfr]/) then CONTROLS.fetch(@scanner.matched)
        elsif @scanner.scan(/[^\p{Alnum}]/m) then Regexp.escape(@scanner.matched)
        else fail!("an escape that ECMA-262 does not have")
        end
      end

      def property
        "\\#{@scanner.matched[0]}{#{@scanner[2]}}"
      end

      def surrogates
        code_point(0x10000 + ((@scanner[1].hex - 0xd800) << 10) + (@scanner[2].hex - 0xdc00))
      end

      def code_point(number)
        fail!("half of a surrogate pair") if number.between?(0xd800, 0xdfff)
        fail!("a character beyond Unicode") if number > 0x10ffff
        format('\u{%x}', number)
      end

      def character_class
        return @out << "(?m:.)" if @scanner.scan("^]")
        return @out << "(?!)" if @scanner.scan("]")

        @out << "[" << @scanner.scan(/\^?/)
        class_member until @scanner.scan("]")
        @out << "]"
      end

      def class_member
        fail!("a class without an end") if @scanner.eos?
        if @scanner.scan("\\") then class_escape
        elsif @scanner.scan(/&+(?!-)/) then @out << '\&' # once: Ruby warns of repetitions
        elsif @scanner.scan(/[\[&]/) then @out << "\\#{@scanner.matched}"
        else @out << @scanner.getch
        end
      end

      def class_escape
        @out << if @scanner.scan(/[dws]/) then "[#{CLASSES.fetch(@scanner.matched)}]"
                elsif @scanner.scan(/[DWS]/) then "[^#{CLASSES.fetch(@scanner.matched.downcase)}]"
                elsif @scanner.scan("b") then '\x08'
                elsif @scanner.scan("-") then '\-'
                else literal
                end
      end

      def fail!(reason)
        raise Error, "#{reason}, at character #{@scanner.charpos}: #{@scanner.string.inspect}"
      end
    end
  end
end
