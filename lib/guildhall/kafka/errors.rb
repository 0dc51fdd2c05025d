# frozen_string_literal: true

require "guildhall/errors"
require "guildhall/suggestion"
require_relative "broker/errors"

module Guildhall
  module Kafka
    # Errors of the framework's that no class of Ruby's fits.
    class OwnError < StandardError
      include Error
    end
    private_constant :OwnError

    # The application cannot do this in the state it is in: it has been started before, or still runs.
    class ApplicationStateError < OwnError; end

    # The topic that a message could not be sent to, and the reason.
    module NotSent
      # @return [String, nil] the topic that it could not be sent to
      attr_reader :to
      # @return [String, nil] what the broker says, and what to do about it
      attr_reader :reason

      def initialize(message = nil, to: nil, reason: nil)
        super(message)
        @to = to
        @reason = reason
      end
    end
    private_constant :NotSent

    # A message that a consumer sends on (`pipe_to`) has not reached its topic within a few seconds. Its partition waits until the brokers
    # have it; then the consumer is called again, and what has arrived is not sent again.
    class ForwardingError < Guildhall::TimeoutError
      include NotSent

      # @!visibility private
      attr_accessor :load

      # The one rule by which what a consumer raises counts as waiting for its messages, not as its failure: also where it has rescued a
      # ForwardingError, and has raised another error for that.
      # @!visibility private
      # @return [Partition::Forwarding::Load, nil] what is waited for
      def self.load_of(error)
        error = error.cause until error.nil? || (error.is_a?(self) && error.load)
        error&.load
      end
    end

    # Kafka has refused a command of the command line; or a record of the topic of commands ({Config#commands}) is none, or is not signed
    # as it must be.
    class CommandError < OwnError; end

    # A message could not be sent to the dead letter topic, or to a retry topic. It is sent again, without another call of its
    # consumer; its partition (with `ordering :key`: its key) waits until that has worked.
    class DeadLetterError < OwnError
      include NotSent
    end

    # The embedded broker refused.
    class EmbeddedBrokerError < OwnError; end

    # librdkafka lacks a function that this version needs, or did not answer as it should.
    class LibrdkafkaError < OwnError; end

    # An object of `config.middleware` has not yielded, or more than once: see {Config#middleware}.
    class MiddlewareError < OwnError; end

    # What is stored in the brokers was written by a later release, in a format that this one does not know.
    class NewerFormatError < OwnError
      # @api private
      # @param what [String] what was written, for people
      # @param version [Integer, nil] of its format; nil: it says none
      # @param known [Integer] the latest that this release knows
      # @raise [NewerFormatError] where the version is a later one
      def self.check!(what, version, known)
        return unless version.is_a?(Integer) && version > known

        raise new("#{what} has version #{version} of its format, from a later release of Guildhall; this one knows #{known}: " \
                  "update this process, or use one of that release")
      end
    end

    # A dead letter could not be replayed.
    class ReplayError < OwnError; end

    # A seek was not done, because the partition was given up before.
    class SeekError < OwnError; end

    # The strategy of a dead letter queue has answered something that it may not.
    class StrategyError < OwnError; end

    # For consumers that decode messages themselves: raise it for one whose bytes are wrong. With `dispatch_undecodable: true` the message
    # is dead-lettered at once, like one whose payload the route's deserializer refuses.
    class UndecodableMessageError < DecodeError; end

    # The brokers have no such topic.
    class UnknownTopicError < Guildhall::ArgumentError
      def initialize(name, names)
        @suggestion = Suggestion.for(name, names)
        super("there is no topic #{name}#{@suggestion}")
      end

      # @return [String] such as "; did you mean orders?", or empty
      attr_reader :suggestion

      # As {KafkaError#code_name}.
      def code_name = "UNKNOWN_TOPIC_OR_PART"
    end

    # The cluster has no such consumer group.
    class UnknownGroupError < Guildhall::ArgumentError
      # @param names [Array<String>] of the groups that there are
      def initialize(name, names = [])
        super("there is no consumer group #{name}#{Suggestion.for(name, names)}")
      end
    end

    # A consumer group has members: as long as they live, their coordinator refuses to delete it, or to set its offsets.
    class LiveGroupError < OwnError
      NAMED = 5 # how many
      private_constant :NAMED

      # @return [Array<Admin::Groups::Member>]
      attr_reader :members

      def initialize(group, members, what)
        @members = members.to_a
        super("group #{group} has #{@members.empty? ? "got a member just now" : named} and cannot #{what}: stop its members first")
      end

      private

      def named
        texts = @members.map(&:to_s).tally.map { |text, count| count > 1 ? "#{text} (#{count} times)" : text }
        rest = " and more" if texts.size > NAMED
        static = "; a static member that has gone counts until its session.timeout.ms has passed" if @members.any?(&:instance_id)
        "#{Printable.count(@members.size, "member")} (#{texts.first(NAMED).join(", ")}#{rest}#{static})"
      end
    end

    # The offsets of a consumer group were not set, or not all of them: the message says what was.
    class OffsetsError < OwnError
      # @return [Array<Array(String, Integer)>] topics and partitions that were set, and that were not
      attr_reader :done, :left

      def initialize(message = nil, done: [], left: [])
        super(message)
        @done = done
        @left = left
      end
    end

    # With manual offset management: a consumer fails while messages of earlier batches are not marked.
    class UnmarkedError < OwnError; end

    # A transaction could not be committed, for a reason that says nothing about its messages: a broker that does not answer, another
    # owner of the partition, a topic that is missing or may not be written to. They are consumed again.
    class TransactionError < OwnError; end

    # The block of a transaction was left by return, break or throw.
    class TransactionExitError < OwnError; end

    # A partition is stalled, and only rejoining the group recovers it.
    class StalledPartitionError < OwnError; end

    # An error of Kafka's or librdkafka's, with what to do about it: {Broker::Errors} has the list.
    class KafkaError < OwnError
      # @return [Integer] librdkafka's number
      attr_reader :code
      # @return [String] librdkafka's name, such as "_ALL_BROKERS_DOWN"
      attr_reader :code_name

      # @param group [String, nil] whose member has read it
      def self.from(read, group = nil)
        place = "#{read.topic}/#{read.partition}: " if read.topic && !read.message.include?(read.topic)
        new(read.code, read.name, Broker::Errors.explain(read.name, "#{place}#{read.message}", consume: read.topic, join: group))
      end

      # @param text [String, nil] what was asked for, and what the answer was; nil: as librdkafka describes the code
      # @return [KafkaError] of the class that says whether a right is missing
      # @param tried [Hash{Symbol=>String}] as for {Broker::Errors.advice}
      def self.of(code, text = nil, **tried)
        klass = Broker::Errors.kind(code) == :right ? AuthorizationError : KafkaError
        text ||= Rdkafka::Bindings.rd_kafka_err2str(code)
        klass.new(code, Broker::Errors.name_of(code), Broker::Errors.explain(code, text, **tried))
      end

      def initialize(code, code_name, text)
        super(worded(code_name, text))
        @code = code
        @code_name = code_name
      end

      private

      def worded(code_name, text) = [code_name, text].compact.join(": ")
    end

    # The producer was closed.
    class ClosedProducerError < StandardError
      include Error

      # @return [Array<Producing::Delivery>] of a call with many messages: those that librdkafka had taken before
      def dispatched = @dispatched || []
      attr_writer :dispatched
    end

    # The user may not do this: the message names the right to grant.
    class AuthorizationError < KafkaError; end

    # No broker has answered in time.
    class UnreachableError < KafkaError
      # @return [UnreachableError] naming the brokers: librdkafka says what failed, and not where. A {TokenError} where the client had no
      #   token to log in with
      def self.at(settings, code, detail)
        TokenError.of(settings) || found(settings, code, detail)
      end

      def self.found(settings, code, detail)
        text = "Kafka at #{servers(settings)} does not answer (#{detail}): #{Broker::Errors.advice(:transport)}"
        new(code, Broker::Errors.name_of(code), text)
      end

      # @return [UnreachableError] with what became of a connection, and what to do about that, in place of what may be done in general
      # @!visibility private
      def because(broker:, reason:, advice:)
        general = Broker::Errors.advice(:transport)
        text = message.delete_suffix(general)
        text == message ? self : self.class.new(code, code_name, "#{text}broker #{broker}: #{[reason, *advice].join("; ")}")
      end

      def self.servers(settings) = settings[:"bootstrap.servers"] || settings[:"metadata.broker.list"]
      private_class_method :found

      private

      def worded(_code_name, text) = text
    end

    # The brokers refuse the credentials, or TLS fails: no broker can be asked for anything.
    class AuthenticationError < UnreachableError
      # @param detail [String] what the broker or librdkafka says
      def self.found(settings, code, detail)
        brokers = "Kafka at #{servers(settings)}"
        what = Broker::Errors.symbol(code) == :ssl ? "TLS with #{brokers} fails" : "#{brokers} refuses the credentials"
        advice = case detail
                 when Broker::Errors::WITHOUT_LOGIN then Broker::Errors::WITHOUT_LOGIN_ADVICE
                 when Broker::Errors::TOKEN_REFUSED then Broker::Errors::TOKEN_ADVICE
                 else Broker::Errors.advice(code)
                 end
        new(code, Broker::Errors.name_of(code), "#{what} (#{detail}): #{advice}")
      end
      private_class_method :found
    end

    # `config.oauth_token` brings no token, or one that cannot be used: clients cannot log in, or not much longer. It is called again.
    class TokenError < AuthenticationError
      # @return [String] what `config.oauth_token` has done
      attr_reader :reason

      # @param settings [Hash{Symbol=>Object}] of a client
      # @return [TokenError, nil] nil: it has a token that has not expired, or needs none
      def self.of(settings) = Tokens.keeper(settings)&.error

      def initialize(servers, reason)
        super(Broker::Librdkafka::AUTHENTICATION, Broker::Errors.name_of(Broker::Librdkafka::AUTHENTICATION),
          "no token for Kafka at #{servers}: #{reason}")
        @reason = reason
      end
    end

    # An error after which librdkafka's client does nothing more. Where another client may fare better (a right that is missing, a group
    # that is full, a broker's own failure), one follows it after a pause; else this is the end of the member.
    class FatalError < KafkaError
      # @api private
      MAX_TEXT_BYTES = 512
      # Answers to who asks to be let in, which another client would get as well.
      REFUSALS = %i[group_id_not_found invalid_request unsupported_assignor unsupported_feature unsupported_version].freeze
      # Another process has the `group.instance.id` now: another client would expel it.
      TAKEN = :fenced_instance_id
      private_constant :REFUSALS, :TAKEN

      # @param joined [Boolean] whether the group has let this client in
      # @return [FatalError, KafkaError] a KafkaError: its group is gone, and another client joins it anew
      def self.of(client, group, joined:)
        text = FFI::MemoryPointer.new(:char, MAX_TEXT_BYTES)
        code = client.with_handle { |handle| Broker::Librdkafka.rd_kafka_fatal_error(handle, text, MAX_TEXT_BYTES) }
        return joining(code, text.read_string, group, joined:) unless joined && Broker::Errors.symbol(code) == :group_id_not_found

        KafkaError.new(code, Broker::Errors.name_of(code), "group #{group} was deleted, or the brokers have lost it; joining again")
      end

      # @return [FatalError] of a member
      def self.joining(code, text, group, joined: false)
        name = Broker::Errors.name_of(code)
        new(code, name, Broker::Errors.explain(name, text, join: group), joined:)
      end

      def initialize(*, joined: false)
        super(*)
        @joined = joined
      end

      # Whether no other client of the same settings would do better. Where the group has let this one in, it lets the next one in too,
      # or refuses it: then that one has the last word.
      def final?
        symbol = Broker::Errors.symbol(code)
        symbol == TAKEN || (!@joined && REFUSALS.include?(symbol))
      end
    end
  end
end
