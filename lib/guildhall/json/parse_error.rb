# frozen_string_literal: true

require "guildhall/native"

module Guildhall
  class JSON
    # A text is not the JSON that the codec accepts. Says where: {#offset}, {#line}, {#column}, {#path}, {#excerpt}.
    #
    # Where the json gem is loaded, `rescue JSON::ParserError` rescues it too, so that code that moves over keeps
    # its rescues.
    class ParseError < DecodeError
      # Makes `rescue ::JSON::ParserError` take a {ParseError} for one of its own. A class has one superclass, and
      # the gem's is not ours: so its `===`, which is what `rescue` asks, has to know ours.
      # @api private
      module RescuedByGem
        def ===(error)
          super || (equal?(::JSON::ParserError) && ParseError === error)
        end
      end

      # @api private
      def self.at(reason, offset, line, column, path, excerpt)
        introduce_to_gem
        new(reason, codec: "JSON", offset:, line:, column:, path:, excerpt:)
      end

      # @api private
      # @param offset [Integer] where the text begins in what it is a part of
      # @param lines [Integer] the number of lines before that
      # @return [ParseError] the same error at its place in the whole
      def moved_by(offset, lines = 0)
        self.class.new(reason, codec:, offset: self.offset + offset, line: line && (line + lines), column:, path:, excerpt:)
      end

      # Whether the gem's class has been changed. Who sets it changes the class: Ruby crashes if two Ractors do.
      INTRODUCED = SharedCell.new(false)
      private_constant :INTRODUCED

      # The json gem may be loaded after this one, so each error looks.
      # @api private
      def self.introduce_to_gem
        return if INTRODUCED.get || !defined?(::JSON::ParserError)

        ::JSON::ParserError.extend(RescuedByGem) if INTRODUCED.compare_and_swap(false, true)
      end

      introduce_to_gem
    end
  end
end
