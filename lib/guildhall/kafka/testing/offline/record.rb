# frozen_string_literal: true

module Guildhall
  module Kafka
    module Testing
      module Offline
        # A message that no broker has sent, with the methods of {Record}.
        Record = Data.define(:topic, :partition, :offset, :timestamp, :key, :raw_payload, :headers) do
          # @return [Integer] bytes of their payloads
          def self.bytes(records) = records.sum(&:size)

          # @return [Array<Record>] the first ones that have such a header
          def self.with_header(records, name, limit) = records.select { |record| record.headers.key?(name) }.first(limit)

          # @return [Integer] bytes of the payload
          def size = raw_payload.to_s.bytesize

          def tombstone? = raw_payload.nil?

          # @return [Boolean] whether the payload is left to others than the reader
          def deferred? = !tombstone?

          # @return [nil] the reader has not tried
          def decode_error = nil

          def timestamp_ms = timestamp && (timestamp.to_r * 1000).to_i
        end
      end
    end
  end
end
