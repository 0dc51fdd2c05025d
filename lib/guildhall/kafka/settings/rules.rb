# frozen_string_literal: true

require "guildhall/option_rules"

module Guildhall
  module Kafka
    module Settings
      # The values that settings may have.
      module Rules
        # An Integer beyond it is taken for milliseconds, as Karafka's durations are: copied from there it would wait a thousand times too
        # long without a word. Written as a Float (`900.0`) it is taken at its word.
        MAX_INTEGER_SECONDS = 600
        # No duration here makes sense beyond a day.
        MAX_SECONDS = 86_400
        # Libraries whose modules are not callable, by the last word of their names => the codec to use instead.
        CODECS = {"JSON" => "Guildhall::JSON.lazy", "Oj" => "Guildhall::JSON.lazy", "MessagePack" => "Guildhall::MessagePack.lazy",
                  "Psych" => "Guildhall::YAML", "YAML" => "Guildhall::YAML", "CSV" => "Guildhall::CSV"}.freeze

        class << self
          def duration(zero: false)
            seconds = OptionRules.seconds(zero:)
            seconds.with(check: ->(value) { seconds.check.call(value) && (Rules.milliseconds(value) || true) })
          end

          # @return [String, nil] the message for a number that looks like milliseconds
          def milliseconds(value)
            return "is in seconds: #{value} looks like milliseconds" if value > MAX_SECONDS
            return unless value.is_a?(Integer) && value > MAX_INTEGER_SECONDS

            "is in seconds: #{value} looks like milliseconds (write #{value / 1000.0} for that, or #{value}.0 if seconds are meant)"
          end

          def callable(expected, count)
            OptionRules.rule(expected) { |value| value.respond_to?(:call) && (Rules.arity_problem(value, count) || true) }
          end

          # With another number of arguments than it takes, it would raise for every message.
          # @return [String, nil] what is wrong, to follow its name
          def arity_problem(callable, count)
            return if callable.is_a?(Proc) && !callable.lambda?

            arity = callable.respond_to?(:arity) ? callable.arity : callable.method(:call).arity
            return if arity.negative? ? ~arity <= count : arity == count

            taken = arity.negative? ? "#{~arity} or more" : arity
            "is called with #{count} argument#{"s" unless count == 1}, and takes #{taken}"
          end

          # @return [String, nil] the message for a library's module, with the codec to use instead
          def meant(expected, value)
            codec = CODECS[value.name.to_s[/\w+\z/]] if value.is_a?(Module)
            "must be #{expected}, not #{value}; did you mean #{codec}?" if codec
          end

          # Several values, or one. Anything else is taken for one, and not asked for its elements: a Range may have no end.
          def list(given)
            case given
            when nil, Array, Set then given.to_a
            else [given]
            end
          end
        end

        COUNT = OptionRules.integer
        BYTES = OptionRules.bytes
        BOOLEAN = OptionRules.boolean
        DURATION = duration
        DURATION_OR_ZERO = duration(zero: true)
        # librdkafka takes bytes up to the first NUL, and Ruby's own methods raise for what is not valid.
        TEXT = OptionRules.rule("a String of UTF-8 without NUL bytes") do |value|
          value.is_a?(String) && value.b.then { |bytes| !bytes.include?("\0") && bytes.force_encoding(Encoding::UTF_8).valid_encoding? }
        end
        NAME = OptionRules.rule("a String of UTF-8 that is not blank, without NUL bytes") do |value|
          TEXT.problem(value).nil? && !value.strip.empty?
        end
        KEY = OptionRules.rule(":key") { it == :key }
        DESERIALIZER = OptionRules.rule("a codec, or another object with `call`") do |value|
          value.respond_to?(:call) || Rules.meant("a codec, or another object with `call`", value)
        end.or(nil)
        SERIALIZER = OptionRules.rule("an object with `encode` or `call`") do |value|
          value.respond_to?(:encode) || value.respond_to?(:call) ||
            Rules.meant("an object with `encode` or `call`", value)&.then { it.sub(".lazy", "") }
        end.or(nil)
        TOPIC_NAME = OptionRules.rule("the name of a topic") do |value|
          value.is_a?(String) && value.b.match?(/\A[a-zA-Z0-9._-]{1,249}\z/) && value != "." && value != ".."
        end
        # Of topics whose names end with seconds.
        TOPIC_PREFIX = OptionRules.rule("the beginning of topic names") do |value|
          value.is_a?(String) && TOPIC_NAME.problem("#{value.b}.1000000").nil?
        end
        ASCENDING_SECONDS = OptionRules.rule("one or more ascending numbers of seconds (5, 30, 300)") do |value|
          value.is_a?(Array) && value.any? &&
            value.all? { |seconds| OptionRules.seconds.problem(seconds).nil? && TOPIC_NAME.problem(seconds.to_s).nil? } &&
            value.each_cons(2).all? { |one, next_one| one < next_one }
        end
        START = ->(place) { place.is_a?(Integer) || place.is_a?(Time) || %i[all earliest latest].include?(place) }
        # nil: not assigned.
        PARTITIONS = OptionRules.rule("a Hash of partitions and where to begin: {0 => :all, 1 => -10}") do |value|
          value.is_a?(Hash) && value.any? &&
            value.all? { |number, place| number.is_a?(Integer) && !number.negative? && START.call(place) }
        end.with(others: [nil].freeze)
        private_constant :CODECS, :START
      end
    end
  end
end
