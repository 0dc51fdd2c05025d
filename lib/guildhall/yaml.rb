# frozen_string_literal: true

require_relative "codec"
require_relative "errors"
require_relative "shareable"
require_relative "soft_dependency"
require_relative "text"

Guildhall::SoftDependency.require!("psych", gem: "psych", purpose: "Guildhall::YAML")
require "guildhall/native"

module Guildhall
  # YAML by the gem psych, loaded safely: nothing but plain data unless an option says more. The class itself is the
  # codec with the default options.
  #
  #     Guildhall::YAML.decode("roles: [admin]\n")                    # => {"roles" => ["admin"]}
  #     Guildhall::YAML.new(permitted_classes: [Date], aliases: true)
  #
  # Any Ractor may call it; it never blocks.
  class YAML
    include Codec

    # @param symbolize_names [Boolean]
    # @param permitted_classes [Array<Class>] beyond plain data: Date, Time, Symbol, …; their objects have to be shareable
    #   once frozen
    # @param permitted_symbols [Array<Symbol>] where Symbol is permitted: which; empty: all
    # @param aliases [Boolean] whether a node may be referred to again: a short text can stand for a huge structure then
    # @raise [Guildhall::ArgumentError]
    def initialize(symbolize_names: false, permitted_classes: [], permitted_symbols: [], aliases: false)
      wrong = permitted_classes.grep_v(Class)
      raise Guildhall::ArgumentError, "permitted_classes are classes, not #{wrong.map(&:inspect).join(", ")}" if wrong.any?

      @options = {symbolize_names:, permitted_classes: permitted_classes.dup, permitted_symbols: permitted_symbols.dup, aliases:,
                  freeze: true}
      Ractor.make_shareable(self)
    end

    # @param bytes [String] UTF-8
    # @return [Object] frozen, shareable; nil for an empty text
    # @raise [DecodeError] with line and column where the text is no YAML; for a class or alias that is not permitted
    def decode(bytes)
      Shareable.plain!(Psych.safe_load(Text.decode(bytes), **@options))
    rescue Psych::SyntaxError => error
      raise DecodeError.new(error.problem || error.message, codec: "YAML", line: error.line, column: error.column, offset: nil)
    rescue Psych::Exception => error # a class, symbol or alias that is not permitted
      raise DecodeError.new(error.message, codec: "YAML")
    end

    # @param object [Object]
    # @return [String] frozen
    def encode(object)
      Psych.dump(object).freeze
    end

    class << self
      include Codec

      # @see #decode
      def decode(bytes) = DEFAULT.decode(bytes)

      # @see #encode
      def encode(object) = DEFAULT.encode(object)
    end

    DEFAULT = new
    private_constant :DEFAULT
  end
end
