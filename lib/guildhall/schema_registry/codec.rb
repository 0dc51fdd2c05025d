# frozen_string_literal: true

require_relative "../clock"
require_relative "../codec"
require_relative "../option_rules"
require_relative "../shared_cache"
require_relative "wire_format"
require_relative "lazy_codec"
require_relative "subject"
require_relative "errors"

module Guildhall
  class SchemaRegistry
    # What the codecs of all formats have in common whose payloads name a schema of a registry: which schema that is, and
    # that it is fetched in the main Ractor before workers need it.
    #
    # A codec calls {#connect} when it is made, and has `make(entry)`: what it decodes with, given a schema.
    # @api private
    module Codec
      include Guildhall::Codec

      # What a schema refers to, as the registry's interface has it.
      def self.references?(list)
        list.is_a?(Array) && list.all? { |one| one.is_a?(Hash) && %w[name subject version].all? { |key| one[key] || one[key.to_sym] } }
      end

      OPTIONS = OptionRules.new(
        registry: OptionRules.object("a Guildhall::SchemaRegistry", :schema, :cached), subject_name: OptionRules.one_of(*Subject::STRATEGIES),
        references: OptionRules.rule("an Array of Hashes with name, subject and version") { |list| references?(list) },
        **%i[key register normalize validate].to_h { |name| [name, OptionRules.boolean] }
      )
      CLASSES = {"AVRO" => "Guildhall::Avro::Confluent", "JSON" => "Guildhall::JSON::Confluent",
                 "PROTOBUF" => "Guildhall::Protobuf::Confluent"}.freeze
      NAMES = {"AVRO" => "Avro schema", "JSON" => "JSON Schema", "PROTOBUF" => "Protobuf schema"}.freeze
      UNUSABLE_SECONDS = 60.0 # before another try with a schema that cannot be used: what it refers to may be there then
      MOST_SUBJECTS = 5 # in an error
      Unusable = Data.define(:reason, :subjects, :try_at)
      private_constant :OPTIONS, :CLASSES, :NAMES, :MOST_SUBJECTS, :Unusable

      attr_reader :registry

      # @return [Hash{String=>String}] what has to be among the headers of messages that this codec encodes; empty unless it
      #   was made with `schema_id: :headers`
      attr_reader :headers

      # @param metadata [#headers, nil] of the message; only needed with `schema_id: :headers`
      # @return [Object] frozen and shareable
      # @raise [UnknownSchemaError] when the registry does not know the schema, or it is unknown here and this is not the
      #   main Ractor
      # @raise [SchemaRegistry::Error] when the registry cannot be asked
      # @raise [UnusableSchemaError] when the schema cannot be used
      # @raise [DecodeError]
      def call(bytes, metadata = nil) = decode(bytes, metadata)

      # Fetches the schemas that these payloads name and that were not fetched yet. Blocks; in the main Ractor only. Schemas
      # that the registry does not know, and payloads that name none, are left for `decode` to complain about.
      # @param metadata [Array<#headers>, nil] one for each payload; only needed with `schema_id: :headers`
      # @raise [SchemaRegistry::Error] when the registry cannot be asked: no further schema is asked for then. One that it refuses, or that
      #   makes no sense, does not keep the others from being there
      def prepare(payloads, metadata = nil)
        ids = payloads.each_with_index.filter_map { |bytes, index| @wire.read(bytes, metadata && metadata[index])&.id }
        failure = nil
        ids.uniq.each do |id|
          @codecs[id] || fetch(id)
        rescue Guildhall::Error => error
          raise if out?(error)

          failure ||= error
        end
        raise failure if failure

        self
      end

      # Prepares first, where it can.
      # @return [Array<Object>] in order
      # @raise [DecodeError] for the first that cannot be decoded
      # @raise [SchemaRegistry::Error]
      def decode_batch(payloads)
        prepare(payloads) if Ractor.main?
        super
      end

      # @return [Integer, String] the id or GUID of the schema
      # @raise [DecodeError]
      def id_of(bytes, metadata = nil) = reference(bytes, metadata).id

      private

      # @param type [String] what the registry calls the format
      # @param schema_id [Symbol] see {WireFormat#initialize}
      # @raise [Guildhall::ArgumentError]
      def connect(registry, type:, schema_id:, key:)
        OPTIONS.check!({registry:, key:}, owner: self.class.name)
        @registry = registry
        @type = type
        @wire = WireFormat.new(schema_id, key:)
        @key = key
        @codecs = SharedCache.new
        @unusable = SharedCache.new
      end

      # The schema that this codec encodes with.
      # @return [Entry, nil] nil: it does not encode
      # @raise [Guildhall::ArgumentError] for options that are wrong, and when the subject's schema is one of another format
      def choose_schema(subject:, topic:, subject_name:, schema:, register:, normalize:, references:, record: nil)
        OPTIONS.check!({subject_name:, register:, normalize:}, owner: self.class.name)
        raise Guildhall::ArgumentError, "#{self.class}: register: true needs a schema: to register" if register && schema.nil?
        return if subject.nil? && topic.nil? && schema.nil?

        subject ||= Subject.for(subject_name, topic:, record:, key: @key)
        @entry = schema ? registered(subject, schema, register, {type: @type, normalize:, references:}) : @registry.latest(subject)
        check_type(subject)
      end

      def check_type(subject)
        return @entry if @entry.type == @type

        other = CLASSES[@entry.type]
        raise Guildhall::ArgumentError, "#{self.class}: schema #{@entry.id} of the subject #{subject} is of type #{@entry.type}, " \
                                        "not #{@type}: name another subject#{", or use #{other}" if other}"
      end

      # Called last: what the codec was given is shareable then.
      def settle(rest = "")
        @prefix = @entry && @wire.prefix(@entry, rest)
        @headers = @entry ? @wire.headers(@entry, rest) : {}.freeze
        Ractor.make_shareable(self)
        fetch(@entry.id) if @entry
      end

      def registered(subject, schema, register, options)
        return @registry.lookup(subject, schema, **options) unless register

        id = @registry.register(subject, schema, **options)
        @registry.schema(id) or
          raise Error, "#{@registry.url} has given the schema of #{subject} the id #{id}, and does not know it; try again when its " \
                       "servers agree"
      end

      # @raise [Guildhall::ArgumentError]
      def check_references(list)
        OPTIONS.check!({references: list}, owner: self.class.name)
        list.map { |one| one.transform_keys(&:to_s) }
      end

      def encoder
        @entry or raise EncodeError, "#{label}: this codec has no schema to encode with: give it a subject: or a topic:"
        @codecs[@entry.id]
      end

      def reference(bytes, metadata)
        raise TypeError, "no implicit conversion of #{Shareable.type_of(bytes)} into String" unless bytes.nil? || bytes.is_a?(String)

        @wire.read(bytes, metadata) || raise(no_reference(metadata))
      end

      def no_reference(metadata)
        if @wire.headers? && @wire.in_headers?(metadata)
          return DecodeError.new("its header #{@wire.header} names no schema: that is a byte 0 and an id of 4 bytes, or a byte 1 and a " \
                                 "GUID of 16 bytes", codec: label)
        end

        elsewhere = if @wire.headers? then ", and no header names a schema"
                    elsif @wire.in_headers?(metadata) then "; a header names the schema: make the codec with schema_id: :headers"
                    end
        DecodeError.new("not Confluent's wire format: it begins with a zero byte and the id of a schema#{elsewhere}",
          codec: label, offset: 0)
      end

      def codec_for(id)
        @codecs[id] || found(id) || raise(unknown_schema(id))
      end

      def found(id)
        check_usable(id)
        fetch(id) if Ractor.main? || whole?(id)
      end

      # Whether nothing is left to be asked of the registry.
      def whole?(id) = @registry.cached(id)&.references&.empty?

      def unknown_schema(id)
        reason, known = why_unknown(id)
        UnknownSchemaError.new(reason, codec: label, offset: 1, **known)
      end

      # What there is to say about an id, and whether the schema may still be found. Workers know what the main Ractor was answered.
      def why_unknown(id)
        entry = @registry.cached(id)
        return ["schema #{id} is of type #{entry.type}, not #{@type}", {id:}] if entry && entry.type != @type
        return ["the registry has no schema #{id} (is it the producer's, and of the same context?)", {id:}] if entry.nil? && unknown?(id)
        if entry.nil? && (Ractor.main? || (@registry.respond_to?(:missing?) && @registry.missing?(id)))
          return ["the registry does not know schema #{id} yet (it is asked again)", {id:, pending: true}]
        end

        what = entry ? "what schema #{id} refers to" : "schema #{id}"
        ["#{what} was not fetched before the batch was dispatched (call prepare(payloads) in the main Ractor first)", {id:, pending: true}]
      end

      # A registry of the application's own has said so when it was asked, which the main Ractor does.
      def unknown?(id) = @registry.respond_to?(:unknown?) ? @registry.unknown?(id) : Ractor.main?

      # @return [Object, nil] nil: the registry does not know it, or it is of another type
      def fetch(id)
        check_usable(id)
        entry = @registry.schema(id)
        return unless entry && entry.type == @type

        @codecs.add(id, made(entry, id))
      end

      # @return [Object] what `make` returns
      # @raise [UnusableSchemaError]
      def made(entry, id = entry.id)
        make(entry)
      rescue SchemaError, RefusedError => error
        raise if mismatch?(error)

        subjects = subjects(entry)
        reason = "the #{NAMES.fetch(@type)} #{id}#{of(subjects)} cannot be used: #{error.message}"
        @unusable.replace(id, Ractor.make_shareable(Unusable.new(reason:, subjects:, try_at: Clock.now + UNUSABLE_SECONDS)))
        raise UnusableSchemaError.new(reason, id:, subjects:)
      end

      # Whether the schema is not at fault, but what it was compared with.
      def mismatch?(_error) = false

      # Only the main Ractor tries again. For all messages that name the schema, it is tried once.
      def check_usable(id)
        known = @unusable[id] or return
        return if Ractor.main? && Clock.now >= known.try_at

        raise UnusableSchemaError.new(known.reason, id:, subjects: known.subjects)
      end

      def subjects(entry)
        named = Ractor.main? && entry.id && @registry.respond_to?(:subjects) ? @registry.subjects(entry.id) : []
        [*entry.subject, *named].uniq
      end

      def of(subjects)
        return if subjects.empty?

        more = subjects.size - MOST_SUBJECTS
        " of the subject#{"s" if subjects.size > 1} #{subjects.first(MOST_SUBJECTS).join(", ")}#{" and #{more} more" if more.positive?}"
      end

      # Whether asking for another schema would be waiting for the same.
      def out?(error)
        error.is_a?(Error) && error.outage? && (!@registry.respond_to?(:outage) || !@registry.outage.nil?)
      end
    end
  end
end
