# frozen_string_literal: true

require_relative "codec"
require_relative "errors"
require_relative "option_rules"
require_relative "shareable"
require_relative "soft_dependency"
require_relative "text"

Guildhall::SoftDependency.require!("psych", gem: "psych", purpose: "Guildhall::YAML")
require_relative "document"

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

    RULES = OptionRules.new(
      symbolize_names: OptionRules.boolean, aliases: OptionRules.boolean, max_nesting: OptionRules.integer(1..1_000),
      max_aliased: OptionRules.integer(0..100_000_000),
      permitted_classes: OptionRules.rule("an Array of classes") { |value| value.is_a?(Array) && value.all?(Class) },
      permitted_symbols: OptionRules.rule("an Array of Symbols") { |value| value.is_a?(Array) && value.all?(Symbol) }
    )
    private_constant :RULES

    # @param permitted_classes [Array<Class>] beyond plain data: Date, Time, Symbol, …; their objects have to be shareable
    #   once frozen
    # @param permitted_symbols [Array<Symbol>] where Symbol is permitted: which; empty: all
    # @param aliases [Boolean] whether a node may be referred to again
    # @param max_nesting [Integer] how deep lists and mappings may be nested, 1 to 1,000
    # @param max_bytes [Integer] longer payloads are refused
    # @param max_digits [Integer] integers of more digits are refused, and so are numbers of permitted classes and fractions of a
    #   second: what it costs to convert them grows faster than the payload. At least 17
    # @param max_aliased [Integer] how many nodes all aliases of a payload may stand for together: a short text can expand to a
    #   huge structure
    # @raise [Guildhall::ArgumentError]
    def initialize(symbolize_names: false, permitted_classes: [], permitted_symbols: [], aliases: false, max_nesting: 100,
                   max_bytes: Text::Limit::DEFAULT_BYTES, max_digits: Digits::MOST, max_aliased: 100_000)
      RULES.check!({symbolize_names:, permitted_classes:, permitted_symbols:, aliases:, max_nesting:, max_aliased:}, owner: "Guildhall::YAML")
      @limit = Text::Limit.new("YAML", max_bytes, max_digits)
      @max_nesting = max_nesting
      @limits = {max_nesting:, max_digits:, max_aliased: aliases ? max_aliased : Float::INFINITY}
      @options = {symbolize_names:, permitted_classes: permitted_classes.dup, permitted_symbols: permitted_symbols.dup, aliases:,
                  freeze: true}
      Ractor.make_shareable(self)
    end

    # @param bytes [String] UTF-8
    # @return [Object] frozen, shareable; nil for an empty text
    # @raise [DecodeError] with line and column, if the text is not YAML, nested too deep, or refers to its own parent; for a number of
    #   too many digits and aliases of too many nodes;
    #   for a class, symbol or alias that is not permitted; for what its tag cannot be made of (`!!float x`)
    def decode(bytes)
      text = Text.decode(@limit.check(bytes))
      Outline.check(text, **@limits)
      Shareable.plain!(load(text))
    rescue Psych::SyntaxError => error
      raise DecodeError.new(error.problem || error.message, codec: "YAML", line: error.line, column: error.column, offset: nil)
    rescue SystemStackError # in a Fiber, which has a small stack
      raise DecodeError.new("nested too deep for this thread's or fiber's stack", codec: "YAML"), cause: nil
    end

    # What it writes, {#decode} reads as the same, with Symbols as Strings unless they are permitted: Hashes, Arrays, texts, numbers, nil
    # and booleans, and objects of the permitted classes (Times to the nanosecond). Other tools read the same: texts that YAML 1.1 or
    # 1.2 could take for something else are quoted.
    # @param object [Object] Documents as what they represent. Objects that stand in it twice are written twice, unless this
    #   codec reads aliases
    # @return [String] frozen
    # @raise [EncodeError] for objects of other classes, for text that is not valid, for an object that contains itself, and for what is
    #   beyond the codec's limits
    def encode(object)
      plain = Plain.new(**@options.slice(:permitted_classes, :permitted_symbols, :aliases), **@limits.slice(:max_nesting, :max_digits))
      object = plain.of(object)
      text = @limit.check_written(Tree.write(object).freeze)
      if plain.special? then check_same(object, decode(text))
      elsif @options[:aliases] then Outline.check(text, **@limits)
      end
      text
    rescue SystemStackError
      raise EncodeError, "YAML: nested too deep", cause: nil
    rescue DecodeError => error
      raise EncodeError, "YAML: this codec could not read it again: #{error.reason}", cause: nil
    rescue ::ArgumentError, TypeError, EncodingError, RuntimeError => error # Psych, of an object of a permitted class
      raise error.is_a?(EncodeError) ? error : EncodeError.new("YAML: #{Redaction.mask(error.message)}", excerpt: error.message)
    end

    private

    # Objects of permitted classes are written as Psych does it; not all of them come back.
    def check_same(given, read)
      case given
      when Hash, Array
        not_again(given) unless given.instance_of?(read.class) && given.size == read.size
        given.to_a.zip(read.to_a) { |one, other| check_same(one, other) }
      else
        read = read.name if read.is_a?(Symbol) && given.is_a?(String) && @options[:symbolize_names]
        given = given.floor(9) if given.instance_of?(Time)
        not_again(given) unless same?(given, read)
      end
    end

    def not_again(given) = raise(EncodeError, "YAML: #{given.class} could not be read again as it is")

    def same?(given, read)
      return read.instance_of?(given.class) if given.method(:==).owner == BasicObject || (given.respond_to?(:nan?) && given.nan?)

      given == read
    end

    # Psych lets through what Float(), Regexp.new and the like raise.
    def load(text)
      Psych.safe_load(text, **@options)
    rescue Psych::SyntaxError
      raise
    rescue StandardError => error
      excerpt = error.message[/: (.+)/mu, 1] || error.message
      raise DecodeError.new(advice(error) || Redaction.mask(error.message), codec: "YAML", excerpt:, **Place.of(text, **@options))
    end

    # Other classes are the payload's words.
    def advice(error)
      return "an alias: the option aliases: true reads them" if error.is_a?(Psych::AliasesNotEnabled)

      name = error.message[/: (Date|DateTime|Symbol|Time)\z/u, 1] if error.is_a?(Psych::DisallowedClass)
      name && "a #{name}, which is not permitted: the option permitted_classes: [#{name}] permits it"
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

    # Psych's regular expressions have no encoding of their own: these lead texts beyond ASCII through all of them that such texts may
    # reach, before several Ractors do it at once (see SharedRegexp).
    texts = ["é", "yé", "1é", ":é", ":\"é\"", "!%C3%A9 é", "!%C3%A9 [é]", "!%C3%A9 {é: é}"]
    texts.each { |text| Psych.safe_load(text, permitted_classes: [Symbol]) }
    Psych.dump(["é", "-é", "0é", "é\né"])
  end
end

require_relative "yaml/outline"
require_relative "yaml/place"
require_relative "yaml/plain"
require_relative "yaml/tree"
