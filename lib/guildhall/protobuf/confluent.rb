# frozen_string_literal: true

require_relative "../protobuf"
require_relative "../schema_registry"
require_relative "../schema_registry/codec"
require_relative "message_indexes"

module Guildhall
  class Protobuf
    # Protobuf in the wire format of Confluent's tools: a zero byte, the id of a schema in a {SchemaRegistry}, which message
    # of that schema it is, the message. Frozen and shareable; runs in the main Ractor only, see {Protobuf}.
    #
    # @example
    #   registry = Guildhall::SchemaRegistry.new("http://localhost:8081")
    #   Guildhall::Protobuf::Confluent.new(registry).decode(bytes)
    class Confluent
      include SchemaRegistry::Codec

      MOST_NAMED = 10 # messages of a schema, in an error
      private_constant :MOST_NAMED

      # @param message [String, nil] full name of the message to encode; nil: the first of the schema
      # @param subject [String, nil] whose newest schema to encode with; nil: by `topic` and `subject_name`
      # @param subject_name [Symbol] see {SchemaRegistry::Subject.for}; the record's name is `message`
      # @param schema [String, nil] the text of a .proto file to encode with; nil: the newest of the subject
      # @param references [Array<Hash>] what `schema` refers to: name, subject and version of each
      # @param register [Boolean] whether `schema` is registered where the subject does not have it; false: that is an error
      # @param normalize [Boolean] see {SchemaRegistry#register}
      # @param schema_id [Symbol] :payload or :headers, where the schema is named: see {SchemaRegistry::WireFormat}
      # @param key [Boolean] for the keys of messages
      # @param options [Hash] `symbolize_names`, `max_bytes`: see {Protobuf#initialize}
      # Blocks while it fetches the schema to encode with. Without subject, topic and schema it only decodes.
      # @raise [SchemaRegistry::Error] when that cannot be fetched
      # @raise [SchemaError] when it cannot be compiled
      # @raise [Guildhall::ArgumentError] when the schema has no such message, or is one of another format
      def initialize(registry, message: nil, subject: nil, topic: nil, subject_name: :topic, schema: nil, references: [],
                     register: false, normalize: false, schema_id: :payload, key: false, **options)
        connect(registry, type: "PROTOBUF", schema_id:, key:)
        @options = RULES.check!(options, owner: self.class.name, beside: self.class)
        choose_schema(subject:, topic:, subject_name:, schema:, register:, normalize:,
          references: check_references(references), record: message)
        @indexes = @entry ? indexes_of(made(@entry), message) : nil
        settle(@indexes ? MessageIndexes.write(@indexes) : "")
      end

      # (see SchemaRegistry::Codec#call)
      def decode(bytes, metadata = nil)
        found = reference(bytes, metadata)
        indexes, offset = found.rest ? [MessageIndexes.read(found.rest, 0).first, 0] : MessageIndexes.read(bytes, found.offset)
        codecs = codec_for(found.id)
        codec = codecs[indexes] or raise DecodeError.new(no_message(found.id, indexes, codecs), codec: label, offset: found.offset)
        codec.decode(bytes.byteslice(offset..))
      end

      # @return [String] frozen, binary
      # @raise [EncodeError] also where this codec was given no subject, topic or schema
      def encode(object) = "#{@prefix}#{encoder.fetch(@indexes).encode(object)}".b.freeze

      # @return [String] why pools run this codec in their callers' threads
      def inline_reason = INLINE_REASON

      private

      def label = "Protobuf"

      def no_message(id, indexes, codecs)
        there = codecs.map { |path, codec| "#{path.join(".")} #{codec.message_class.descriptor.name}" }
        "schema #{id} has no message at #{indexes.join(".")}; it has #{there.any? ? there.first(MOST_NAMED).join(", ") : "none"}"
      end

      # @return [Hash{Array<Integer>=>Protobuf}] by the indexes of messages
      # @raise [SchemaError]
      def make(entry)
        descriptors = Descriptors.new
        _, file = @registry.resolve(entry) { |one, others| [one, file_of(one, others, descriptors)] }
        add(file, "schema-#{entry.id || entry.guid}.proto", descriptors)
        codecs = {}
        collect(file.message_type, [file.package].reject(&:empty?), []) do |indexes, name|
          codecs[indexes] = Protobuf.new(descriptors.message(name), **@options)
        end
        Ractor.make_shareable(codecs)
      rescue Guildhall::ArgumentError => error
        raise SchemaError, error.message
      end

      # What it refers to comes first, under the name by which it is imported.
      def file_of(entry, others, descriptors)
        others.each { |import, (other, file)| add(file, import, descriptors, "version #{other.version} of #{other.subject}") }
        Google::Protobuf::FileDescriptorProto.decode(registry.serialized(entry).unpack1("m"))
      rescue Google::Protobuf::ParseError
        raise SchemaRegistry::Error.new("#{registry.url} answers with something that is no serialized Protobuf schema for schema " \
                                        "#{entry.id || entry.guid}; does it support format=serialized?", status: 502)
      end

      def add(file, name, descriptors, source = name)
        descriptors.add(file.dup.tap { |copy| copy.name = name }, source)
      end

      def collect(types, outer, indexes, &block)
        types.each_with_index do |type, index|
          next if type.options&.map_entry

          path = [*indexes, index]
          name = [*outer, type.name]
          yield path, name.join(".")
          collect(type.nested_type, name, path, &block)
        end
      end

      def indexes_of(codecs, message)
        return [0] if message.nil? && codecs.key?([0])

        names = codecs.transform_values { |codec| codec.message_class.descriptor.name }
        names.key(message) or raise Guildhall::ArgumentError,
          ["the schema has no message", *message].join(" ") + (names.any? ? "; there are #{names.values.join(", ")}" : " at all")
      end
    end
  end
end
