# frozen_string_literal: true

require "strscan"

require_relative "../../shared_regexp"

module Guildhall
  class JSON
    class Path
      # Translates a regular expression of RFC 9485 (I-Regexp), which `match` and `search` of RFC 9535 take, into one of
      # Ruby. It has no look-around and no back references, so Ruby matches it in linear time, unless ranges such as {1,30} are
      # nested: then a match ends after a second with Regexp::TimeoutError.
      # @api private
      class IRegexp
        ESCAPE = /\\([()*+.?\-\[\\\]^{|}nrt])/u
        PROPERTY = /\\([pP])\{(L[lmotu]?|M[cen]?|N[dlo]?|P[cdefios]?|Z[lps]?|S[ckmo]?|C[cfno]?)\}/u
        QUANTIFIER = /[*+?]|\{\d+(?:,\d*)?\}/u
        NORMAL = /[^()*+.?\[\\\]{|}]/mu
        IN_CLASS = /[^\-\[\\\]]/mu
        LETTERS = {"n" => '\n', "r" => '\r', "t" => '\t'}.freeze
        ANCHORS = {"^" => '\A', "$" => '\z'}.freeze # which ECMAScript makes of them (RFC 9485, 5.3), and the compliance test suite wants
        TIMEOUT_SECONDS = 1.0
        # An expression may come from a payload.
        NESTING = 100 # of groups
        LONGEST = 10_000 # characters
        private_constant :TIMEOUT_SECONDS, :NESTING, :LONGEST
        private_constant :ESCAPE, :PROPERTY, :QUANTIFIER, :NORMAL, :IN_CLASS, :LETTERS, :ANCHORS

        # @param source [String] in any encoding, as {SharedRegexp.utf8} reads it
        # @param whole [Boolean] whether it has to match the whole text
        # @return [Regexp, nil] frozen; nil where the source is not an I-Regexp, or too long
        def self.compile(source, whole:)
          source = SharedRegexp.utf8(source)
          return if source.nil? || source.length > LONGEST

          translated = catch(:invalid) { new(source).translate } or return
          SharedRegexp.of(whole ? "\\A(?:#{translated})\\z" : translated, timeout: TIMEOUT_SECONDS).freeze
        rescue RegexpError
          nil # a range such as {3,2}
        end

        def initialize(source)
          @text = StringScanner.new(source)
          @depth = 0
        end

        # @return [String] for Regexp.new; throws :invalid
        def translate
          result = alternatives
          @text.eos? ? result : throw(:invalid)
        end

        private

        def alternatives
          branches = [branch]
          branches << branch while @text.skip(/\|/u)
          branches.join("|")
        end

        def branch
          pieces = []
          while (atom = next_atom)
            pieces << "#{atom}#{@text.scan(QUANTIFIER)}"
          end
          pieces.join
        end

        def next_atom
          return ANCHORS[@text.matched] || Regexp.escape(@text.matched) if @text.scan(NORMAL)
          return '[^\n\r]' if @text.skip(/\./u)
          return escaped if @text.check(/\\/u)
          return character_class if @text.skip(/\[/u)

          group if @text.skip(/\(/u)
        end

        def group
          throw(:invalid) if (@depth += 1) > NESTING
          inner = alternatives
          @depth -= 1
          @text.skip(/\)/u) ? "(?:#{inner})" : throw(:invalid)
        end

        def escaped
          return "\\#{@text[1]}{#{@text[2]}}" if @text.scan(PROPERTY)

          @text.scan(ESCAPE) ? LETTERS.fetch(@text[1]) { Regexp.escape(@text[1]) } : throw(:invalid)
        end

        def character_class
          negated = @text.scan("^")
          members = @text.skip(/-/u) ? ['\-'] : [member]
          members << member until @text.check(/-?\]/u)
          members << '\-' if @text.skip(/-/u)
          @text.skip(/\]/u)
          "[#{negated}#{members.uniq.map { |one| "[#{one}]" }.join}]" # nested, because Ruby warns where ranges overlap
        end

        def member
          return escaped if @text.check(PROPERTY)

          first = class_character
          return first unless @text.check(/-[^\]]/u)

          @text.skip(/-/u)
          "#{first}-#{class_character}"
        end

        def class_character
          return escaped if @text.check(ESCAPE)

          # Ruby gives && and [: a meaning in classes that I-Regexp does not know.
          character = @text.scan(IN_CLASS) or throw(:invalid)
          character.match?(/[&^:]/u) ? "\\#{character}" : Regexp.escape(character)
        end
      end
    end
  end
end
