# frozen_string_literal: true

require_relative "printable"

module Guildhall
  # What logs and error trackers get of an error: always its class, and of its message what cannot quote a payload. Ruby and many gems
  # write the value that they complain about into the message; what an application raises in its own words stays as it is. May be
  # called from any Ractor.
  module Redaction
    # Characters of a message; more where everything is shown.
    MAX_CHARACTERS = 300
    MAX_CHARACTERS_OF_ALL = 1_000
    LEFT_OUT = "its message may quote a payload and is left out, see config.error_reports"
    # Errors whose messages consist of a value, and what stays of these messages. By name: only what is loaded can have been raised.
    QUOTING = {
      "FrozenError" => /\Acan't modify frozen [\w:]*\w(?:: payloads are frozen: use [\w.]+\z)?/,
      "KeyError" => /\Akey not found(?:: :\w+[?!=]?\z)?|\A(?!key\b)[^"]+/, # another beginning: the application's words
      "NoMatchingPatternError" => /(?!)/,
      "JSON::ParserError" => /\bline \d+,? column \d+/,
      "Psych::SyntaxError" => /\bline \d+,? column \d+/,
      "JSON::GeneratorError" => /(?!)/,
      "URI::InvalidURIError" => /\Abad URI\b/,
      "ActiveRecord::StatementInvalid" => /\A[A-Z]\w*(?:::\w+)+(?=:)/,
      "PG::ServerError" => /\AERROR\b/,
      "Mysql2::Error" => /\A(?:Duplicate entry|Data too long|Incorrect \w+ value)/,
      "Avro::IO::AvroTypeError" => /(?!)/,
      "Avro::SchemaValidator::ValidationError" => /(?!)/
    }.freeze
    # What Ruby raises about arguments: Strings in quotes and numbers are replaced. An application that raises one of these classes
    # itself keeps its other words; subclasses are its own.
    MASKED = [::ArgumentError, IndexError, RangeError, FloatDomainError, TypeError, RegexpError, Encoding::CompatibilityError,
              Encoding::UndefinedConversionError, Encoding::InvalidByteSequenceError].freeze
    ARITY = /\Awrong number of arguments \([^"]*\)\z/
    VALUE = /"(?:[^"\\]|\\.)*(?:"|\z)|(?<![\w.-])-?\d[\w.+]*/m
    MAX_CAUSES = 5
    COPIES = {"Hash" => "payload.to_h.dup", "Array" => "payload.to_a.dup", "String" => "text.dup"}.freeze
    private_constant :QUOTING, :MASKED, :ARITY, :VALUE, :MAX_CAUSES, :COPIES

    # Instead of an error whose message is not to leave the process: of the same class, from the same place.
    module Redacted
      # @return [String]
      attr_reader :message
      alias to_s message

      # Without what gems add, which know the receiver.
      # @return [String]
      def detailed_message(highlight: false, **) = "#{message} (#{self.class})"
      # @return [String]
      def inspect = "#<#{self.class}: #{message}>"
    end

    class << self
      # @param error [Exception] whose own methods may raise
      # @param messages [Boolean] whether all of the message is shown, with an excerpt of the payload where there is one
      # @return [String] one line, in UTF-8
      def message(error, messages: false)
        return Printable.words([text(error), *excerpt(error), *advice(error)].join(": "), MAX_CHARACTERS_OF_ALL) if messages

        Printable.words([redacted(error), *advice(error)].join("; "), MAX_CHARACTERS)
      rescue StandardError, ScriptError, SystemStackError => error
        "(its message raises #{error.class})"
      end

      # For error trackers, which ask the error itself, and its causes.
      # @param error [Exception]
      # @param messages [Boolean] see {#message}
      # @return [Exception] the same one where it and its causes quote nothing; else one of its class, with its backtrace
      def copy(error, messages: false)
        messages || silent?(error) ? error : rebuilt(error, MAX_CAUSES)
      rescue StandardError, ScriptError, SystemStackError
        rebuilt(error, 0)
      end

      # @param error [Exception]
      # @return [String, nil] what to do about an error of Ruby's own that payloads lead to
      def advice(error)
        return unless error.is_a?(FrozenError)

        copy = COPIES[text(error)[/\Acan't modify frozen (\w+): (?!payloads are frozen)/, 1]]
        "payloads are frozen: use #{copy}" if copy
      end

      # @param object [Hash, Array, String]
      # @return [String] how to make one that can be changed
      def copy_of(object) = COPIES.fetch(object.class.name)

      # @param text [String] of an error about a value
      # @return [String] without the value
      def mask(text)
        ARITY.match?(text) ? text : text.gsub(VALUE, "…")
      end

      private

      def text(error) = Printable.utf8(error.message.to_s)

      def excerpt(error)
        error.excerpt.to_s[/.+/m] if error.is_a?(DecodeError) || error.is_a?(EncodeError)
      end

      def redacted(error, causes = MAX_CAUSES)
        own = text(error)
        return own if error.is_a?(Redacted)
        return part(own, quoting(error)) if quoting(error)
        return without_cause(error, own, causes) unless MASKED.include?(error.class)

        mask(own)
      end

      # By the names of its classes: `===` of some answers for others.
      def quoting(error)
        name = error.class.ancestors.find { |klass| QUOTING.key?(klass.name) }&.name
        name && QUOTING[name]
      end

      def part(text, pattern) = text.scrub[pattern] || LEFT_OUT

      # Many errors repeat what they were caused by.
      def without_cause(error, own, causes)
        cause = error.cause
        return own if cause.nil? || causes.zero?

        before = text(cause)
        after = redacted(cause, causes - 1)
        return own if before.empty? || before == after

        [before, Printable.words(before, before.size)].reduce(own) { |shown, quoted| shown.gsub(quoted) { after } }
      end

      def silent?(error, causes = MAX_CAUSES)
        return true if error.nil? || causes.negative?
        return false if excerpt(error) || error.is_a?(KeyError) || redacted(error) != text(error)

        silent?(error.cause, causes - 1)
      end

      # Without the class's own `initialize`, whose arguments are unknown.
      def rebuilt(error, causes)
        made = error.class.allocate
        Exception.instance_method(:initialize).bind_call(made, nil)
        made.instance_variable_set(:@message, message(error))
        made.extend(Redacted)
        cause = error.cause
        made = caused(made, rebuilt(cause, causes - 1)) if cause && causes.positive?
        made.set_backtrace(error.backtrace) if error.backtrace
        made
      end

      # Ruby sets a cause only by raising.
      def caused(error, cause)
        raise error, cause:
      rescue Exception => error # rubocop:disable Lint/RescueException -- the one raised just above
        error
      end
    end
  end
end
