# frozen_string_literal: true

# What FFIReader makes of a message: bytes and metadata, frozen and shareable, with the methods of Guildhall::Kafka::Record.
PlainRecord = Data.define(:topic, :partition, :offset, :timestamp_ms, :key, :raw_payload, :headers) do
  # @param message [Rdkafka::Consumer::Message]
  # @return [PlainRecord]
  def self.from(message)
    Ractor.make_shareable(new(
      topic: message.topic, partition: message.partition, offset: message.offset,
      timestamp_ms: message.timestamp && (message.timestamp.to_r * 1000).to_i, key: text(message.key),
      raw_payload: message.payload, headers: message.headers.to_h { |name, value| [text(name), text(value)] }
    ))
  end

  # @param records [Array<PlainRecord>]
  # @return [Integer] bytes of all their payloads
  def self.bytes(records)
    records.sum(&:size)
  end

  # @param records [Array<PlainRecord>]
  # @return [Array<nil>] what the reader has made of each
  def self.documents(records)
    records.map(&:document)
  end

  # @param records [Array<PlainRecord>]
  # @return [Array<PlainRecord>] the first ones that have such a header
  def self.with_header(records, name, limit)
    records.select { |record| record.headers.key?(name) }.first(limit)
  end

  # @return [String] as UTF-8 where it is that, else as bytes
  def self.text(value)
    return value.map { |one| text(one) } if value.is_a?(Array)
    return value if value.nil?

    utf8 = value.dup.force_encoding(Encoding::UTF_8)
    utf8.valid_encoding? ? utf8 : value
  end

  # @return [Time, nil]
  def timestamp
    Time.at(0, timestamp_ms, :millisecond) if timestamp_ms
  end

  # @return [Boolean]
  def tombstone?
    raw_payload.nil?
  end

  # @param codec [Codec]
  # @return [Object]
  # @raise [DecodeError]
  def decode(codec)
    codec.call(raw_payload)
  end

  # @return [Boolean] whether there is a payload: this reader leaves them all to others
  def deferred?
    !tombstone?
  end

  # @return [Integer] bytes
  def size
    raw_payload ? raw_payload.bytesize : 0
  end

  # @return [nil] what the reader has decoded
  def document
    nil
  end

  # @return [nil] why the reader could not decode the payload
  def decode_error
    nil
  end
end
