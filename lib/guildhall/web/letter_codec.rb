# frozen_string_literal: true

require "guildhall/callable"
require "guildhall/kafka/dead_letter_queue/dead_letter"

module Guildhall
  class Web
    # Decodes the messages of a dead letter topic: each as the route of the topic says that it is from. Any Ractor, if its codecs are
    # for any.
    # @api private
    class LetterCodec
      # @param name [String] a dead letter topic
      # @param routes [Array<Kafka::Routing::Topic>]
      # @return [LetterCodec, nil] nil: no route that dead-letters there decodes
      def self.of(name, routes)
        sources = routes.select { |route| route.dead_letter_topic == name && route.deserializer }
        new(sources.map { |route| [route.name, Kafka::Broker::Search.decoding_part(route.deserializer)] }) if sources.any?
      end

      # @param codecs [Array<Array(String | Regexp, #call)>] by the name of the source topic, or a pattern of names
      def initialize(codecs)
        @codecs = codecs.map(&:freeze).freeze
        freeze
      end

      # @param record [Kafka::Record]
      def call(bytes, record)
        codec = codec_of(record)
        Callable.takes_metadata?(codec) ? codec.call(bytes, record) : codec.call(bytes)
      end

      # As {Guildhall::Avro} has it: what workers cannot get by themselves is got before.
      def prepare(payloads, records)
        payloads.zip(records).group_by { |_, record| codec_of(record) }.each do |codec, some|
          Callable.prepare(codec, *some.transpose) if codec.respond_to?(:prepare)
        end
      end

      private

      def codec_of(record)
        source = Kafka::DeadLetterQueue::DeadLetterHeaders.text(record.headers["source_topic"])
        found = @codecs.find { |name, _| source && name === source } # a name or a pattern
        found ? found.last : JSON
      end
    end
  end
end
