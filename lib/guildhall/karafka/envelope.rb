# frozen_string_literal: true

module Guildhall
  module Karafka
    # What deserializers get of a message, on workers and in place: bytes and metadata, frozen and shareable, under the names that
    # Karafka's messages have for them.
    # Keys and headers are as Kafka has them: the topic's deserializers for these run in the main Ractor only.
    # @api private
    Envelope = Data.define(:raw_payload, :topic, :partition, :offset, :timestamp, :received_at, :raw_key, :raw_headers) do
      # @param payload [String, nil] frozen; what it had as raw payload
      def self.of(message, payload)
        metadata = message.metadata
        Ractor.make_shareable(new(payload, metadata.topic.dup, metadata.partition, metadata.offset, metadata.timestamp.dup,
          metadata.received_at.dup, *copies(metadata)))
      end

      # Copied: a caller's objects are never frozen.
      def self.copies(metadata)
        headers = metadata.raw_headers
        [metadata.raw_key.dup, headers&.to_h { |name, value| [name.dup, value.is_a?(Array) ? value.map(&:dup) : value.dup] }]
      end
      private_class_method :copies

      def key = raw_key

      def headers = raw_headers

      # @return [self] for deserializers that ask `message.metadata`
      def metadata = self

      # @return [Boolean] never true in a worker: tombstones are not dispatched
      def tombstone? = !raw_key.nil? && raw_payload.nil?
    end
  end
end
