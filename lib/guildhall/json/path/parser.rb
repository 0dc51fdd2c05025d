# frozen_string_literal: true

require "strscan"
require_relative "../../printable"
require_relative "filter"
require_relative "query"

module Guildhall
  class JSON
    class Path
      # Reads a path. Raises {Guildhall::ArgumentError} where it is not understood.
      # @api private
      class Parser
        NAME = /[A-Za-z_\u0080-\u{10FFFF}][A-Za-z0-9_\u0080-\u{10FFFF}]*/
        QUOTED = /'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"/u
        INTEGER = /0|-?[1-9]\d*/u
        SLICE = /(#{INTEGER})?[ \t\n\r]*:[ \t\n\r]*(#{INTEGER})?(?:[ \t\n\r]*:[ \t\n\r]*(#{INTEGER})?)?/u
        NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/u
        WORDS = {"true" => true, "false" => false, "null" => nil}.freeze
        SEVERAL = "a path that may lead to several values is not compared: ask for one that fits, as $.items[?@.sku == \"A-1\"] does,"
        MAX_DEPTH = 100 # of parentheses, filters and functions inside each other, as `max_nesting` of payloads
        EXACT = (-(2**53) + 1)..((2**53) - 1)
        MAX_SHOWN = 200 # characters of a path, in errors
        private_constant :MAX_DEPTH, :MAX_SHOWN, :EXACT, :SEVERAL, :NAME, :QUOTED, :INTEGER, :SLICE, :NUMBER, :WORDS

        def initialize(source)
          @text = StringScanner.new(source)
          @depth = 0
        end

        def query
          refuse("a path begins with $") unless @text.skip(/\$/u)
          segments = []
          segments << segment until @text.eos?
          Query.new(segments, from_root: true)
        end

        # @return [#true_for?] a test of one value, which is both $ and @
        def condition
          @text.skip(/[ \t\n\r]*/u)
          test = alternatives
          @text.skip(/[ \t\n\r]*/u)
          @text.eos? ? test : refuse("expected && or ||, or the end")
        end

        private

        def segment
          descend = !@text.skip(/[ \t\n\r]*\.\./u).nil?
          return [descend, bracketed] if @text.skip(/[ \t\n\r]*\[[ \t\n\r]*/u)

          refuse("expected . or [") unless descend || @text.skip(/[ \t\n\r]*\./u)
          return [descend, [:all]] if @text.skip(/\*/u)

          [descend, [@text.scan(NAME) || refuse("expected a name")]]
        end

        def bracketed
          selectors = [selector]
          selectors << selector while @text.skip(/[ \t\n\r]*,[ \t\n\r]*/u)
          refuse("expected , or ]") unless @text.skip(/[ \t\n\r]*\]/u)
          selectors
        end

        def selector
          return :all if @text.skip(/\*/u)
          return unquote(@text.matched) if @text.scan(QUOTED)
          return @text.captures.map { |number| number && integer(number) } if @text.scan(SLICE)
          return nested { alternatives } if @text.skip(/\?[ \t\n\r]*/u)

          number = @text.scan(INTEGER) || refuse("expected an index, a name in quotes, a slice, a filter or *")
          integer(number)
        end

        # RFC 9535, 2.1: what every implementation can be sure of.
        def integer(text)
          number = text.to_i
          EXACT.cover?(number) ? number : refuse("a number is from #{EXACT.begin} to #{EXACT.end}")
        end

        # Deeper nesting is a mistake, and would use up the stack of Ruby.
        def nested
          refuse("more than #{MAX_DEPTH} parentheses, filters and functions inside each other") if (@depth += 1) > MAX_DEPTH
          yield.tap { @depth -= 1 }
        end

        def alternatives
          test = conjunction
          test = Filter::Either.new(test, conjunction) while @text.skip(/[ \t\n\r]*\|\|[ \t\n\r]*/u)
          test
        end

        def conjunction
          test = basic
          test = Filter::Both.new(test, basic) while @text.skip(/[ \t\n\r]*&&[ \t\n\r]*/u)
          test
        end

        def basic
          return Filter::Opposite.new(@text.check(/\(/u) ? basic : existence(operand)) if @text.skip(/![ \t\n\r]*/u)
          return comparison_or_existence unless @text.skip(/\([ \t\n\r]*/u)

          test = nested { alternatives }
          refuse("expected )") unless @text.skip(/[ \t\n\r]*\)/u)
          test
        end

        def comparison_or_existence
          left = operand
          return existence(left) unless @text.skip(/[ \t\n\r]*(==|!=|<=|>=|<|>)[ \t\n\r]*/u)

          Filter::Comparison.new(comparable(left), @text[1], comparable(operand))
        end

        def existence(operand)
          return operand if operand.is_a?(Filter::Matching)

          operand.is_a?(Query) ? Filter::Existence.new(operand) : refuse("expected a comparison")
        end

        def comparable(operand)
          refuse("match and search are tests, not values") if operand.is_a?(Filter::Matching)
          return operand unless operand.is_a?(Query)

          operand.singular? ? Filter::Single.new(operand) : refuse(SEVERAL)
        end

        # A query, or what has a value.
        def operand
          return inner_query if @text.check(/[@$]/u)
          return Filter::Literal.new(unquote(@text.matched)) if @text.scan(QUOTED)
          return Filter::Literal.new(JSON.decode(@text.matched)) if @text.scan(NUMBER)
          return Filter::Literal.new(WORDS.fetch(@text.matched)) if @text.scan(/(?:true|false|null)\b(?![ \t\n\r]*\()/u)

          function(@text.scan(/[a-z][a-z_0-9]*(?=\()/u) || refuse("expected @, $, a value or a function"))
        end

        def inner_query
          from_root = @text.getch == "$"
          segments = []
          segments << segment while @text.check(/[ \t\n\r]*(\.|\[)/u)
          Query.new(segments, from_root:)
        end

        def function(name)
          @text.skip(/\([ \t\n\r]*/u)
          made = nested { call(name) }
          refuse("expected )") unless @text.skip(/[ \t\n\r]*\)/u)
          made
        end

        def call(name)
          case name
          when "length" then Filter::Length.new(comparable(operand))
          when "count" then Filter::Count.new(of_nodes(operand))
          when "value" then Filter::Single.new(of_nodes(operand))
          when "match", "search" then Filter::Matching.of(comparable(operand), second_argument, whole: name == "match")
          else refuse("there are the functions length, count, value, match and search, not #{name}")
          end
        end

        def second_argument
          refuse("expected , and a regular expression") unless @text.skip(/[ \t\n\r]*,[ \t\n\r]*/u)
          comparable(operand)
        end

        def of_nodes(operand) = operand.is_a?(Query) ? operand : refuse("expected a path in the parentheses")

        def unquote(quoted)
          inner = quoted[1..-2]
          if quoted.start_with?("'")
            refuse("invalid escape in #{quoted}") if inner.match?(/(?<!\\)(?:\\\\)*\\"/u)
            inner = inner.gsub("\\'", "'").gsub('"', "\\\"")
          end
          JSON.decode("[\"#{inner}\"]").first
        rescue ParseError
          refuse("invalid escape in #{quoted}")
        end

        def refuse(reason)
          raise Guildhall::ArgumentError, "JSONPath #{Printable.words(@text.string, MAX_SHOWN)}: #{reason} at position #{@text.charpos}"
        end
      end
    end
  end
end
