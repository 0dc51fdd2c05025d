# frozen_string_literal: true

require_relative "printable"

module Guildhall
  # What logs and error trackers get of an error: always its class, and of its message what cannot quote a payload. Ruby and many gems
  # write the value that they complain about into the message; what an application raises in its own words stays as it is. May be
  # called from any Ractor.
  # @api private
  module Redaction
    # Characters of a message; more where everything is shown.
    MAX_CHARACTERS = 300
    MAX_CHARACTERS_OF_ALL = 1_000
    # Of longer messages no more is looked at. Whole characters in UTF-32, too.
    MAX_BYTES = 8_000
    LEFT_OUT = "its message may quote a payload and is left out, see config.error_reports"
    # Errors whose messages consist of a value, and what stays of these messages. By name: only what is loaded can have been raised.
    QUOTING = {
      "FrozenError" => /\Acan't modify frozen [\w:]*\w(?:: payloads are frozen: use [\w.]+\z)?/u,
      "KeyError" => /\Akey not found(?:: :\w+[?!=]?\z)?|\A(?!key\b)[^"]+/u, # another beginning: the application's words
      "NoMatchingPatternError" => /(?!)/u,
      "JSON::ParserError" => /\bline \d+,? column \d+/u,
      "Psych::SyntaxError" => /\bline \d+,? column \d+/u,
      "JSON::GeneratorError" => /(?!)/u,
      "Psych::DisallowedClass" => /\ATried to load unspecified class\b/u,
      "Psych::BadAlias" => /\A(?:An alias referenced an unknown anchor|Unknown alias|Alias parsing was not enabled)\b/u,
      "URI::InvalidURIError" => /\Abad URI\b/u,
      "URI::InvalidComponentError" => /\Abad component\b/u,
      "UncaughtThrowError" => /\Auncaught throw\b/u,
      "Encoding::ConverterNotFoundError" => /\Acode converter not found\b/u,
      "ActiveModel::RangeError" => /\bis out of range\b/u,
      # Another beginning: the application's words.
      "ActiveRecord::RecordNotFound" => /\ACouldn't find (?:all )?\w+(?:::\w+)*|\A(?!Couldn't find\b).+/mu,
      "ActiveRecord::StatementInvalid" => /\A[A-Z]\w*(?:::\w+)+(?=:)/u,
      "PG::ServerError" => /\AERROR\b/u,
      "Mysql2::Error" => /\A(?:Duplicate entry|Data too long|Incorrect \w+ value)/u,
      "Avro::IO::AvroTypeError" => /(?!)/u,
      "Avro::SchemaValidator::ValidationError" => /(?!)/u
    }.freeze
    # What Ruby raises about arguments: texts in double quotes, numbers and all that follows a colon, a dash, a slash or a single quote
    # are replaced. An application that raises one of these classes itself keeps its other words; subclasses are its own.
    MASKED = [::ArgumentError, IndexError, RangeError, FloatDomainError, TypeError, RegexpError, EncodingError, Encoding::CompatibilityError,
              Encoding::UndefinedConversionError, Encoding::InvalidByteSequenceError].freeze
    # What has these marks and yet names code only.
    HARMLESS = /\A(?:wrong\ number\ of\ arguments\ \([^"]*\)|
                     missing\ keywords?:\ :\w+(?:,\ :\w+)*|incompatible\ character\ encodings:\ [\w()\ -]+|
                     a\ number\ that\ has,\ written\ out,\ more\ digits\ than\ max_digits,\ \d+|
                     Tried\ to\ load\ unspecified\ class:\ (?:Date|DateTime|Time|Symbol|Regexp|Range|Rational|Complex|Set|BigDecimal))\z/xu
    VALUE = %r{"(?:[^"\\]|\\.)*+(?:"|\\?\z)|(?<!:):(?!:)\s*\S.*|\s[-–—]+\s.*|(?<![\p{L}\p{N}])['`/].*|(?<![\w.-])-?\d[\w.+]*}m
    MARK = /\A(?::\s?|\s[-–—]+\s)/
    MAX_CAUSES = 5
    COPIES = {"Hash" => "payload.to_h.dup", "Array" => "payload.to_a.dup", "String" => "text.dup"}.freeze
    private_constant :QUOTING, :MASKED, :HARMLESS, :VALUE, :MARK, :MAX_CAUSES, :MAX_BYTES, :COPIES

    # What an error's own methods may raise; not what ends a thread or the process, or was raised into the thread meanwhile.
    module Failure
      KINDS = [StandardError, ScriptError, SystemStackError, SecurityError].freeze
      private_constant :KINDS

      def self.===(raised) = KINDS.any? { |kind| kind === raised } || raised.instance_of?(Exception)
    end
    private_constant :Failure

    # Instead of an error whose message is not to leave the process: of the same class, from the same place.
    module Redacted
      attr_reader :message
      alias to_s message

      # Without what gems add, which know the receiver.
      def detailed_message(highlight: false, **) = "#{message} (#{self.class})"
      def inspect = "#<#{self.class}: #{message}>"
      # The one that it was raised with, whatever its class says.
      def cause = Exception.instance_method(:cause).bind_call(self)
      # Ruby asks for it to raise the error.
      def exception(*) = self
    end

    class << self
      # @param error [Exception] whose own methods may raise
      # @param messages [Boolean] whether all of the message is shown, with an excerpt of the payload where there is one
      # @return [String] one line, in UTF-8
      def message(error, messages: false)
        shown = without_drawing(error, messages ? text(error) : redacted(error))
        return Printable.words([shown, *excerpt(error), *advice(error)].join(": "), MAX_CHARACTERS_OF_ALL) if messages

        Printable.words([shown, *advice(error)].join("; "), MAX_CHARACTERS)
      rescue Failure => error
        "(its message raises #{error.class})"
      end

      # For error trackers, which ask the error itself, and its causes.
      # @param messages [Boolean] see {#message}
      # @return [Exception] the same one where it and its causes quote nothing; else one of its class, with its backtrace; a
      #   StandardError for a class that cannot be copied
      def copy(error, messages: false)
        return error if messages || silent?(error)

        rebuilt(error, MAX_CAUSES)
      rescue Failure
        copy_alone(error)
      end

      # @return [String, nil] what to do about an error of Ruby's own that payloads lead to
      def advice(error)
        return unless error.is_a?(FrozenError)

        copy = COPIES[text(error)[/\Acan't modify frozen (\w+): (?!payloads are frozen)/u, 1]]
        "payloads are frozen: use #{copy}" if copy
      end

      # @return [String] how to make one that can be changed
      def copy_of(object) = COPIES.fetch(object.class.name)

      # @param text [String] of an error about a value
      # @return [String] without the value
      def mask(text)
        text = cut(text)
        HARMLESS.match?(text) ? text : text.gsub(VALUE) { |value| "#{value[MARK]}…" }
      end

      private

      def text(error) = cut(error.message.to_s)
      def cut(text) = Printable.valid(text.byteslice(0, MAX_BYTES))
      def long?(error) = error.message.to_s.bytesize > MAX_BYTES

      # Ruby's parser draws where the mistake is: a line of a log has the file, the line and the reason.
      def without_drawing(error, text)
        return text unless error.is_a?(SyntaxError)

        place = text[/\A\S.*?:\d+(?=: syntax error)/u]
        reason = text[/\^\S* (.+)/u, 1]
        place && reason ? "#{place}: #{reason}" : text
      end

      def excerpt(error)
        [error.excerpt.to_s].reject(&:empty?) if error.is_a?(DecodeError) || error.is_a?(EncodeError)
      end

      def redacted(error, causes = MAX_CAUSES)
        own = text(error)
        return own if error.is_a?(Redacted)
        return part(own, quoting(error)) if quoting(error)

        shown = without_cause(error, own, causes)
        MASKED.include?(error.class) ? mask(shown) : shown
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
        return own if cause.nil?
        return LEFT_OUT if causes.zero?

        before = text(cause)
        after = redacted(cause, causes - 1)
        return own if before.empty? || before == after
        return without_rest(own, before, after) if long?(error) || long?(cause)

        [before, Printable.words(before, before.size)].reduce(own) { |shown, quoted| shown.gsub(quoted) { after } }
      end

      # Where either is not known as a whole: also without what follows.
      def without_rest(own, before, after)
        place = own.index(before[0, 100])
        place ? own[0, place] + after : own
      end

      def silent?(error, causes = MAX_CAUSES)
        return true if error.nil?
        return false if causes.negative? || excerpt(error) || error.is_a?(KeyError) || redacted(error) != text(error)
        return false if long?(error) && (error.cause || MASKED.include?(error.class))

        silent?(error.cause, causes - 1)
      end

      # Without the class's own methods: of some, `initialize` wants something; others may raise.
      def rebuilt(error, causes)
        made = redacted_as(Class.instance_method(:allocate).bind_call(class_of(error)), message(error))
        cause = error.cause if causes.positive?
        made = caused(made, rebuilt(cause, causes - 1)) if cause
        placed(made, error)
      end

      def copy_alone(error)
        rebuilt(error, 0)
      rescue Failure
        placed(redacted_as(StandardError.allocate, "#{Module.instance_method(:name).bind_call(class_of(error))}: #{LEFT_OUT}"), error)
      end

      def class_of(error) = Kernel.instance_method(:class).bind_call(error)

      def redacted_as(made, message)
        Exception.instance_method(:initialize).bind_call(made, nil)
        Kernel.instance_method(:instance_variable_set).bind_call(made, :@message, message)
        Kernel.instance_method(:extend).bind_call(made, Redacted)
      end

      def placed(made, error)
        backtrace = Exception.instance_method(:backtrace).bind_call(error)
        Exception.instance_method(:set_backtrace).bind_call(made, backtrace) if backtrace
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
