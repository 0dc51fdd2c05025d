# frozen_string_literal: true

require "json"
require "guildhall/option_rules"
require_relative "../testing"

module Guildhall
  module Kafka
    module Testing
      # What a test expects of messages, or of what is done, and the words for it: behind {RSpec}'s matchers and {Assertions}.
      class Expectation
        MESSAGE = %i[topic payload key headers partition at because].freeze
        MOST = 20 # messages that a failure lists
        TEXT = 300 # characters of each
        private_constant :MESSAGE, :MOST, :TEXT

        # @param kind [Symbol] :produced or :dead_lettered
        # @param times [Integer, Range, nil] nil: at least one
        # @param criteria [Hash{Symbol=>Object}] topic:, payload:, key:, headers:, partition:, at: (the Time of `produce_later`), because:
        #   (the error's class). Compared by `===`, so that classes, Regexps, Ranges, Procs and RSpec's matchers do; of the headers, those
        #   that are named. A payload that is a String, a Regexp or nil is compared with the bytes, anything else with what they decode to
        def initialize(kind, times: nil, **criteria)
          unknown = criteria.keys.find { |name| !MESSAGE.include?(name) }
          raise Guildhall::ArgumentError, OptionRules.unknown("keyword #{unknown}", unknown, [*MESSAGE, :times]) if unknown

          unless times.nil? || times.is_a?(Integer) || times.is_a?(Range)
            raise Guildhall::ArgumentError, "times: must be an Integer or a Range, not #{times.inspect}"
          end

          @kind = kind
          @times = times
          @criteria = criteria
        end

        # @param subject [OfflineTopic, Offline::Producer, Proc] a Proc is called, {Testing.offline}; dead letters only an OfflineTopic has
        # @raise [Guildhall::ArgumentError] for another subject
        def met?(subject)
          subject = Testing.offline { |producer| producer.tap { subject.call } } if subject.is_a?(Proc) && @kind == :produced
          @subject = Expectation.checked(subject, "what was #{Expectation.verb(@kind)}", *(Offline::Producer if @kind == :produced),
            needed: @kind == :produced ? :acted? : :delivered?)
          @messages = @kind == :produced ? subject.produced : subject.dead_letters
          count = @messages.count { |message| differences(message).empty? }
          @times ? @times === count : count.positive?
        end

        # @param negated [Boolean] whether it was met, and should not be
        # @return [String] what was there instead
        def failure(negated: false)
          ["expected #{name} #{"not " if negated}to have #{self}; #{seen}", *listed, *hint, *errors].join("\n")
        end

        def to_s
          criteria = @criteria.map { |name, value| "#{name} #{describe(value)}" }
          times = " #{@times} time#{"s" unless @times == 1}" if @times
          "#{Expectation.verb(@kind)} a message#{" with " if criteria.any?}#{criteria.join(", ")}#{times}"
        end

        private

        # JSON has no Symbols.
        def hint
          expected = @criteria[:payload]
          return unless expected.is_a?(Hash) && expected.any? { |key, _| key.is_a?(Symbol) }

          strings = ::JSON.parse(::JSON.generate(expected))
          "  the keys of a decoded payload are Strings: payload: #{strings}" if @messages.any? { |one| strings == decoded(one) }
        rescue ::JSON::JSONError
          nil
        end

        def name = @subject.is_a?(OfflineTopic) ? @subject.name : "the producer"
        def seen = "it has #{@messages.empty? ? "none" : "#{@messages.size}:"}"
        def describe(value) = value.respond_to?(:description) ? value.description : value.inspect

        # @return [Array<Symbol>] criteria that the message does not meet
        def differences(message) = @criteria.reject { |name, expected| fits?(name, expected, message) }.keys

        def fits?(name, expected, message)
          case name
          when :topic then expected.is_a?(Symbol) ? expected.to_s == message[:topic].to_s : same?(expected, message[:topic].to_s)
          when :headers then headers?(expected, message[:headers].to_h)
          when :because then same?(expected.is_a?(Module) ? expected.name : expected, message[:headers].to_h["source_error_class"])
          when :payload then same?(expected, as_bytes?(expected) ? message[:payload] : decoded(message))
          else same?(expected, message[name])
          end
        end

        def headers?(expected, headers)
          return same?(expected, headers) unless expected.is_a?(Hash)

          expected.all? { |header, value| same?(value, headers[header.to_s]) }
        end

        def same?(expected, value) = expected === value || expected == value
        def as_bytes?(expected) = expected.nil? || expected.is_a?(String) || expected.is_a?(Regexp)

        # As the route of its topic decodes it, else as JSON; nil: neither can.
        def decoded(message)
          bytes = message[:payload] or return
          codec = codec(message)
          value = codec ? codec.call(bytes) : ::JSON.parse(bytes)
          Guildhall::Document.plain(value)
        rescue ::JSON::ParserError, Guildhall::Error
          nil
        end

        # A dead letter has the bytes of the message that has failed.
        def codec(message)
          name = @kind == :dead_lettered ? @subject.name : message[:topic].to_s
          @subject.application.routes.latest_topics.find { |route| route.match?(name) && route.deserializer }&.deserializer
        end

        def listed
          lines = @messages.first(MOST).map do |message|
            off = differences(message)
            "  #{line(message)}#{"   <- #{off.join(", ")}" if off.any?}"
          end
          @messages.size > MOST ? [*lines, "  and #{@messages.size - MOST} more"] : lines
        end

        def line(message)
          shown = {payload: message[:payload], **message.except(:topic, :payload).reject { |_, value| value.nil? || value == {} }}
          text = "#{message[:topic]}: #{shown.map { |name, value| "#{name} #{value.inspect}" }.join(", ")}"
          text.size > TEXT ? "#{text[0, TEXT]}…" : text
        end

        def errors = @subject.is_a?(OfflineTopic) ? Expectation.errors(@subject) : []

        class << self
          def verb(kind) = kind == :produced ? "produced" : "dead-lettered"

          # What nothing was done with has neither produced nor marked anything: half of all expectations would be met, whatever the
          # consumer does.
          # @param others [Array<Class>] that may be asked as well
          # @param needed [Symbol] what has to be true of a topic
          # @return [OfflineTopic, Object] the subject
          # @raise [Guildhall::ArgumentError] where it knows nothing of that, or nothing yet
          def checked(subject, what, *others, needed: :delivered?)
            return subject if others.any? { |one| one === subject }

            if subject.is_a?(OfflineTopic)
              return subject if subject.public_send(needed)

              raise Guildhall::ArgumentError, "#{what} is asked of #{subject}, and nothing was delivered to it: call deliver first"
            end

            given = subject.nil? ? "nothing" : Config::Secrets.kind(subject)
            raise Guildhall::ArgumentError, "#{what} is asked of a topic (Testing.topic(\"orders\").deliver(…))" \
                                            "#{" or of a block" if others.any?}, but #{given} was given"
          end

          # @return [Array<String>] lines of what the consumer has raised
          def errors(topic)
            topic.errors.map { |error| "  its consumer has raised #{error.class}: #{error.message[0, TEXT]}#{place(error)}" }.tally
              .map { |line, count| "#{line}#{" (#{count} times)" if count > 1}" }
          end

          private

          def place(error) = Logging::ApplicationFrame.place(error)&.then { |place| " (#{place})" }
        end
      end

      # (see Expectation) that messages are done.
      class MarkedExpectation
        # @param count [Integer, nil] of the first messages; nil: all that were delivered
        def initialize(count = nil)
          unless count.nil? || (count.is_a?(Integer) && !count.negative?)
            raise Guildhall::ArgumentError, "the count of messages that are marked must be an Integer from 0 on, not #{count.inspect}"
          end

          @count = count
        end

        def met?(topic)
          @topic = Expectation.checked(topic, "what was marked")
          return topic.done == expected if expected <= topic.delivered

          raise Guildhall::ArgumentError, "#{expected} messages cannot be marked: #{topic} has got #{topic.delivered}"
        end

        def failure(negated: false)
          return "expected #{@topic} not to have #{self}" if negated

          left = ", offset #{@topic.done} is the first that is not" if @topic.done < @topic.delivered
          said = "expected #{@topic} to have #{self}; #{@topic.done} of #{@topic.delivered} are done#{left}"
          [said, *Expectation.errors(@topic)].join("\n")
        end

        def to_s = "marked #{@count ? "the first #{@count}" : "all"} of its messages"

        private

        def expected = @count || @topic.delivered
      end
    end
  end
end
