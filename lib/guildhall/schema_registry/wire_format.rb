# frozen_string_literal: true

module Guildhall
  class SchemaRegistry
    # Where messages name their schema: before the payload (a zero byte and the schema's id), or in a header (a byte 1 and
    # the schema's GUID, as Confluent's clients of 2025 write it). Frozen and shareable.
    # @see https://docs.confluent.io/platform/current/schema-registry/fundamentals/serdes-develop/index.html#wire-format
    # @api private
    class WireFormat
      PREFIX_BYTES = 5
      PLACES = %i[payload headers].freeze
      HEADERS = {false => "__value_schema_id", true => "__key_schema_id"}.freeze
      private_constant :HEADERS

      # What was found: the schema's id or GUID, the rest of the header, and where the payload continues.
      Reference = Data.define(:id, :rest, :offset)

      # @return [Symbol] :payload or :headers
      attr_reader :place
      # @return [String] the name of the header
      attr_reader :header

      # @param place [Symbol] `:payload`, or `:headers`, which reads messages of both kinds and writes the header
      # @param key [Boolean] for the keys of messages, not for their payloads
      # @raise [Guildhall::ArgumentError]
      def initialize(place = :payload, key: false)
        raise Guildhall::ArgumentError, "schema_id: is :payload or :headers, not #{place.inspect}" unless PLACES.include?(place)

        @place = place
        @header = HEADERS.fetch(key ? true : false)
        freeze
      end

      def headers? = @place == :headers

      # @param metadata [Object, nil] of the message
      # @return [Boolean] whether a header of it names a schema
      def in_headers?(metadata) = metadata.respond_to?(:headers) && metadata.headers&.key?(@header) ? true : false

      # @param metadata [#headers, nil] of the message
      # @return [Reference, nil] nil where there is none, or where it is in a header that cannot be read: the payload is not looked at then
      def read(bytes, metadata = nil)
        return if bytes.nil?

        headers? && in_headers?(metadata) ? of_header(metadata) : before(bytes)
      end

      # @param rest [String] the bytes after the id
      # @return [String] the bytes before the payload; empty if the schema is named in a header
      def prefix(entry, rest = "")
        headers? ? "".b.freeze : ["\0".b, [entry.id].pack("N"), rest].join.b.freeze
      end

      # @param rest [String] the bytes after the GUID
      # @return [Hash{String=>String}] what has to be among the message's headers
      # @raise [Error] where the registry is too old to give its schemas GUIDs
      def headers(entry, rest = "")
        return {}.freeze unless headers?
        raise RefusedError, "the registry gives schema #{entry.id} no GUID: use schema_id: :payload" unless entry.guid

        {@header => ["\1".b, [entry.guid.delete("-")].pack("H*"), rest].join.b.freeze}.freeze
      end

      private

      def before(bytes)
        return unless bytes.bytesize >= PREFIX_BYTES && bytes.getbyte(0).zero?

        Reference.new(bytes.unpack1("N", offset: 1), nil, PREFIX_BYTES)
      end

      def of_header(metadata)
        value = Array(metadata.headers[@header]).last
        return unless value.is_a?(String)

        case value.getbyte(0)
        when 0 then Reference.new(value.unpack1("N", offset: 1), value.byteslice(5..), 0) if value.bytesize >= 5
        when 1 then Reference.new(guid(value), value.byteslice(17..), 0) if value.bytesize >= 17
        end
      end

      # 8-4-4-4-12 hexadecimal digits.
      def guid(value)
        value.unpack("x H8 H4 H4 H4 H12").join("-").freeze
      end
    end
  end
end
