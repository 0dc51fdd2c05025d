# frozen_string_literal: true

require_relative "suggestion"

module Guildhall
  # What the options of a method, or the settings of an object, may be: a {Rule} for each name. Reports everything that is
  # wrong together, in one wording. Shareable.
  # @api private
  class OptionRules
    LARGEST_COUNT = (2**31) - 1
    LARGEST_BYTES = 2**40
    private_constant :LARGEST_COUNT, :LARGEST_BYTES

    # What a value may be: `expected` says it in a message. `check` answers whether the value will do, or with a String that
    # says what is wrong with it. `others` will do as well.
    Rule = Data.define(:expected, :others, :check) do
      # @return [Rule] that allows these values too
      def or(*values)
        with(expected: "#{expected}, or #{values.map(&:inspect).join(" or ")}", others: values.freeze)
      end

      # @return [String, nil] what is wrong with the value, to follow its name; nil: nothing
      def problem(value)
        return if others.include?(value)

        answer = check.call(value)
        answer.is_a?(String) ? answer : ("must be #{expected}, not #{value.inspect}" unless answer)
      end
    end

    class << self
      # @param expected [String] with its article
      def rule(expected, &check) = Ractor.make_shareable(Rule.new(expected:, others: [], check:))

      def one_of(*values)
        Ractor.make_shareable(values)
        *first, last = values.map(&:inspect)
        rule("#{first.join(", ")} or #{last}") { |value| values.include?(value) }
      end

      def boolean = one_of(true, false)

      # @param ceiling [Integer] for a range without an end: what C can count, and no application needs more
      def integer(range = 1.., ceiling: LARGEST_COUNT) = integer_up_to(range, ceiling)

      def bytes = integer(ceiling: LARGEST_BYTES)

      # @param zero [Boolean] whether 0 will do
      def seconds(zero: false)
        rule("a finite number #{zero ? "≥" : ">"} 0 (seconds)") do |value|
          value.is_a?(Numeric) && value.real? && value.to_f.finite? && (value.positive? || (zero && value.zero?))
        end
      end

      def object(expected, *methods)
        methods.freeze
        rule(expected) { |value| methods.all? { |name| value.respond_to?(name) } }
      end

      # @param what [String] what is unknown: "setting deserializing.paralel"
      # @param name [#to_s] of it what may be a typing error
      # @param names [Array<#to_s>] those that there are
      def unknown(what, name, names)
        hint = Suggestion.for(name, names)
        "unknown #{what}#{hint.empty? ? "; there are #{names.join(", ")}" : hint}"
      end

      # What a class takes as keywords of their own, beside a Hash of options.
      def keywords(klass)
        klass.instance_method(:initialize).parameters.filter_map { |kind, name| name if %i[key keyreq].include?(kind) }
      end

      def kind(expected, klass) = rule(expected) { |value| value.is_a?(klass) }

      private

      # A method of its own: what a shareable block refers to must not be assigned.
      def integer_up_to(range, ceiling)
        bounds = range.end ? "from #{range.begin} to #{range.end}" : "≥ #{range.begin}"
        rule("an Integer #{bounds}") do |value|
          next false unless value.is_a?(Integer) && range.cover?(value)

          !range.end.nil? || value <= ceiling || "must be at most #{ceiling}, not #{value}"
        end
      end
    end

    attr_reader :names

    # @param noun [String] what a name is called in messages
    def initialize(noun = "option", **rules)
      @noun = noun
      @rules = rules
      @names = rules.keys
      Ractor.make_shareable(self)
    end

    # @param names [Array<Symbol>] those that are allowed here
    # @param prefix [String] of the names in messages
    # @param beside [Class, nil] whose `initialize` has keywords of its own beside these: the message about an unknown one lists them too
    # @return [Array<String>] everything that is wrong
    def errors(values, names: @names, prefix: "", beside: nil)
      values.filter_map do |name, value|
        unless names.include?(name)
          there = beside ? [*self.class.keywords(beside), *names] : names
          next self.class.unknown("#{@noun} #{prefix}#{name}", name, there)
        end

        problem = @rules[name].problem(value)
        "#{prefix}#{name} #{problem}" if problem
      end
    end

    # @param owner [String, nil] what the options belong to
    # @param beside [Class, nil] see {#errors}
    # @return [Hash{Symbol=>Object}] the values
    # @raise [Guildhall::ArgumentError] naming everything that is wrong
    def check!(values, owner: nil, names: @names, beside: nil, error: Guildhall::ArgumentError)
      errors = errors(values, names:, beside:)
      raise error, [owner, errors.join("; ")].compact.join(": ") if errors.any?

      values
    end

    # For an object whose settings are assigned, with its rules in the constant RULES. An assignment to one that does not exist is kept,
    # to be reported with everything else that is wrong instead of alone by a NoMethodError. Reading one is an error at once.
    module Assigned
      private

      def setting_errors(rules, prefix: "")
        [*rules.errors(rules.names.to_h { |name| [name, public_send(name)] }, prefix:),
         *@unknown&.keys&.map { |name| unknown_text(name, prefix) }]
      end

      # A class that knows better what was meant says it.
      def unknown_text(name, prefix = "")
        OptionRules.unknown("setting #{prefix}#{name}", name, self.class.const_get(:RULES).names)
      end

      def method_missing(name, *arguments)
        raise unknown_setting(name, caller_locations(1, 1).first) if arguments.empty? && name.match?(/\A[a-z_]+\z/)
        return super unless name.end_with?("=") && arguments.size == 1

        (@unknown ||= {})[name[..-2].to_sym] = arguments.first
      end

      def unknown_setting(name, place)
        UnknownSettingError.new("#{unknown_text(name)} (#{place.path}:#{place.lineno})")
      end

      def respond_to_missing?(_name, _private = false) = false
    end
  end
end
