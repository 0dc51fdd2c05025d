# frozen_string_literal: true

require "strscan"
require "guildhall/json"
require_relative "hidden"

module Guildhall
  class Web
    # A JSON text for people, as it was written: of each token the same characters, so that digits, escapes, equal keys and their order
    # stay. Only the white space between tokens is new. Ends after so many values.
    # @api private
    class JSONText
      NODES = 2_000
      VALID = JSON.new(allow_duplicate_key: true)
      TOKEN = /[{}\[\],:]|"(?:[^"\\]|\\.)*+"|[^\s{}\[\],:"]+/
      private_constant :VALID, :TOKEN

      # @param text [String]
      # @return [Boolean] whether it is an object or an array
      def self.it?(text)
        text.match?(/\A\s*[\[{]/) && !VALID.document(text).nil?
      rescue DecodeError
        false
      end

      # @param text [String] for which {.it?} is true, or what JSON.encode has written
      # @param hidden [Hidden]
      def initialize(text, hidden, nodes: NODES)
        @text = StringScanner.new(text)
        @hidden = hidden
        @nodes = nodes
      end

      # @return [String] with a line for each value
      def lines = written("\n", "  ", ": ")

      # @return [String]
      def line = written("", "", ":")

      # @return [Boolean] whether {#lines} or {#line} has left something out
      def cut? = @nodes.negative?

      private

      def written(line, step, colon)
        @line = line
        @step = step
        @colon = colon
        @written = +""
        catch(:cut) { value(@hidden.root, line) }
        cut? ? @written << "…" : @written
      end

      def token
        @text.skip(/\s+/)
        @text.scan(TOKEN)
      end

      def value(place, line)
        throw(:cut) if (@nodes -= 1).negative?
        return hide if @hidden.at?(place)

        case (first = token)
        when "{", "[" then all(first, place, line)
        else @written << first
        end
      end

      # Members of an object, or elements of an array.
      def all(opening, place, line)
        closing = opening == "{" ? "}" : "]"
        @written << opening
        inner = line + @step
        until @text.skip(/\s*#{Regexp.escape(closing)}/)
          @written << "," if @text.skip(/\s*,/)
          @written << inner
          value(@hidden.below(place, (name if opening == "{")), inner)
        end
        @written << line unless @written.end_with?(opening)
        @written << closing
      end

      def name
        quoted = token
        token # the colon
        @written << quoted << @colon
        quoted.include?("\\") ? JSON.decode(quoted) : quoted[1..-2]
      end

      def hide
        depth = 0
        loop do
          case token
          when "{", "[" then depth += 1
          when "}", "]" then depth -= 1
          end
          break if depth.zero?
        end
        @written << %("#{Hidden::TEXT}")
      end
    end
  end
end
