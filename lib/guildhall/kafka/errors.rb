# frozen_string_literal: true

require "guildhall/errors"
require "guildhall/suggestion"

module Guildhall
  module Kafka
    # The application cannot do this in the state it is in: it has been started before, or still runs.
    class ApplicationStateError < StandardError
      include Error
    end

    # A command of the command line was refused by Kafka.
    class CommandError < StandardError
      include Error
    end

    # A message could not be sent to the dead letter topic, or to a retry topic. It is sent again, without another call of its
    # consumer; its partition (with `ordering :key`: its key) waits until that has worked.
    class DeadLetterError < StandardError
      include Error

      # @return [String, nil] the topic that it could not be sent to
      attr_reader :to
      # @return [String, nil] what the broker says, and what to do about it
      attr_reader :reason

      # @param message [String]
      # @param to [String, nil]
      # @param reason [String, nil]
      def initialize(message = nil, to: nil, reason: nil)
        super(message)
        @to = to
        @reason = reason
      end
    end

    # The embedded broker refused.
    class EmbeddedBrokerError < StandardError
      include Error
    end

    # librdkafka lacks a function that this version needs, or did not answer as it should.
    class LibrdkafkaError < StandardError
      include Error
    end

    # The producer's queue stays full: waterdrop's own error has this, too, so that either is rescued.
    module QueueFullError
      include Error
    end

    # An object of `config.middleware` has not yielded, or more than once: see {Config#middleware}.
    class MiddlewareError < StandardError
      include Error
    end

    # A dead letter could not be replayed.
    class ReplayError < StandardError
      include Error
    end

    # A seek was not done, because the partition was given up before.
    class SeekError < StandardError
      include Error
    end

    # The strategy of a dead letter queue has answered something that it may not.
    class StrategyError < StandardError
      include Error
    end

    # What a consumer raises that decodes a message itself and finds its bytes wrong: with `dispatch_undecodable: true` the message is
    # dead-lettered at once, as one whose payload the route's deserializer refuses.
    class UndecodableMessageError < DecodeError
    end

    # The brokers have no such topic.
    class UnknownTopicError < Guildhall::ArgumentError
      # @param name [String]
      # @param names [Array<String>] those that there are
      def initialize(name, names)
        super("there is no topic #{name}#{Suggestion.for(name, names)}")
      end
    end

    # With manual offset management: a consumer fails while messages of earlier batches are not marked.
    class UnmarkedError < StandardError
      include Error
    end

    # A transaction could not be committed, for a reason that says nothing about its messages: a broker that does not answer, another
    # owner of the partition. They are consumed again.
    class TransactionError < StandardError
      include Error
    end

    # The block of a transaction was left by return, break or throw.
    class TransactionExitError < StandardError
      include Error
    end

    # A partition is stalled, and only rejoining the group recovers it.
    class StalledPartitionError < StandardError
      include Error
    end

    # An error of librdkafka's that no call of ours caused, such as a broker that cannot be reached.
    class KafkaError < StandardError
      include Error

      # What to do about it, by the code's name.
      ADVICE = {
        "UNKNOWN_TOPIC_OR_PART" => "create the topic, or correct its name in the routes",
        "FENCED_INSTANCE_ID" => "another process has joined the group under the same group.instance.id: give each its own"
      }.freeze

      # @return [Integer] librdkafka's number
      attr_reader :code
      # @return [String] librdkafka's name, such as "_ALL_BROKERS_DOWN"
      attr_reader :code_name

      # @param read [Reading::ReadError]
      # @return [KafkaError]
      def self.from(read)
        new(read.code, read.name, [read.message, *ADVICE[read.name]].join("; "))
      end

      # @param code [Integer]
      # @param code_name [String]
      # @param text [String, nil]
      def initialize(code, code_name, text)
        super([code_name, text].compact.join(": "))
        @code = code
        @code_name = code_name
      end
    end

    # An error after which librdkafka's client does nothing more, such as that another process has joined the group under the
    # same `group.instance.id`. To rejoin would only expel the other one.
    class FatalError < KafkaError
      MAX_TEXT_BYTES = 512 # bytes of text at most

      # @param client [Connection::Client]
      # @return [FatalError]
      def self.of(client)
        text = FFI::MemoryPointer.new(:char, MAX_TEXT_BYTES)
        code = client.with_handle { |handle| Connection::Librdkafka.rd_kafka_fatal_error(handle, text, MAX_TEXT_BYTES) }
        name = Connection::Librdkafka.error_name(code)
        new(code, name, [text.read_string, *ADVICE[name]].join("; "))
      end
    end
  end
end
