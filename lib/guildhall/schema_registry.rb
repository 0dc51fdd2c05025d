# frozen_string_literal: true

require_relative "clock"
require_relative "option_rules"
require_relative "shareable"
require_relative "shared_cache"
require_relative "schema_registry/errors"
require_relative "schema_registry/entry"
require_relative "schema_registry/http"
require_relative "schema_registry/outages"
require_relative "schema_registry/subject"
require_relative "schema_registry/unknown_ids"

module Guildhall
  # A client of a schema registry (Confluent's, Karapace, Apicurio's compatible interface) for Avro, JSON Schema and
  # Protobuf subjects alike. Frozen and shareable: what it has fetched is known in every Ractor.
  #
  # Fetching blocks, and works in the main Ractor; what is in the cache can be read anywhere. Schemas are fetched once
  # and kept. An id that the registry does not know is asked for again for `unknown_after` seconds, by one thread at a time, because it
  # may just have been registered elsewhere; then it is remembered as unknown, and asked for once in `unknown_for` seconds. Every request
  # has a connection of its own, which is closed whatever happens: one that was interrupted in mid-read is never used again.
  class SchemaRegistry
    RULES = OptionRules.new(
      url: OptionRules.rule("a String or an Array of Strings") { |url| url.is_a?(String) || (url.is_a?(Array) && url.all?(String)) },
      user: Credentials::TEXT, password: Credentials::TEXT, token: Credentials::TOKEN, headers: OptionRules.kind("a Hash of Strings", Hash),
      context: OptionRules.kind("a String", String).or(nil), retries: OptionRules.integer(0..),
      unknown_after: OptionRules.seconds(zero: true), unknown_for: OptionRules.seconds(zero: true)
    )
    private_constant :RULES

    autoload :OAuth, File.expand_path("schema_registry/oauth.rb", __dir__)

    # @return [String] without user and password
    attr_reader :url

    # @param url [String, Array<String>] http or https, one or several (also with commas between them): where one server
    #   does not answer, the next one is asked. It may contain user and password
    # @param user [String, nil]
    # @param password [String, nil]
    # @param token [String, OAuth, #call, nil] a bearer token, or what gives one, instead of a user
    # @param headers [Hash{String=>String}] for every request, such as "target-sr-cluster"
    # @param context [String, nil] the registry's context, with or without its dot; nil: the default context
    # @param connect_timeout [Numeric] seconds
    # @param read_timeout [Numeric] seconds, for each read
    # @param retries [Integer] further attempts after a failed connection, a time-out, or an answer 408, 425, 429 or 5xx; every server
    #   is asked once at least
    # @param unknown_after [Numeric] seconds for which an id that the registry does not know is asked for again; 0: not at all
    # @param unknown_for [Numeric] seconds between two requests for it then, during which it stays unknown
    # @param ca_file [String, nil] certificates to trust; nil: the system's
    # @param certificate [String, nil] path of a client's certificate (PEM)
    # @param key [String, nil] path of its key (PEM)
    # @raise [Guildhall::ArgumentError] when a URL is not one of HTTP, or an option is wrong
    # @raise [NotShareableError] for a token's callable that cannot be shared
    def initialize(url, user: nil, password: nil, token: nil, headers: {}, context: nil, retries: 3, unknown_after: 60, unknown_for: 300,
                   **connection)
      RULES.check!({url:, user:, password:, token:, headers:, context:, retries:, unknown_after:, unknown_for:},
        owner: "Guildhall::SchemaRegistry")
      token = Shareable.callable!(token, "token") if token.respond_to?(:call)
      @http = HTTP.new(url, user:, password:, token:, headers:, context:, retries:, **connection)
      @url = @http.to_s
      @entries = SharedCache.new
      @unknown = UnknownIDs.new(unknown_after, unknown_for)
      @outages = Outages.new
      Ractor.make_shareable(self)
    end

    # @param id [Integer, String] a String is a GUID
    # @return [Entry, nil] nil: the registry did not know it when it was last asked, and is not asked now
    # @raise [Error] when the registry cannot be asked; at once, where it did not answer a moment ago
    def schema(id)
      @entries[id] || (fetch(id) if @unknown.ask?(id))
    end

    # @param id [Integer, String] a String is a GUID
    # @return [Entry, nil] what has been fetched; never blocks
    def cached(id) = @entries[id]

    # @param subject [String]
    # @return [Entry] its newest version, asked for each time
    # @raise [Error]
    def latest(subject) = version(subject, "latest")

    # @param subject [String]
    # @param version [Integer, String]
    # @return [Entry]
    # @raise [Error]
    def version(subject, version)
      data = get("/subjects/#{HTTP.escape(subject)}/versions/#{version}")
      raise RefusedError.new("#{url} has no version #{version} of the subject #{subject}", status: 404) unless data

      keep(entry(data))
    end

    # @param subject [String]
    # @param schema [String, Hash, Array, #json]
    # @param type [String] AVRO, JSON or PROTOBUF
    # @param references [Array<Hash>] as the registry's interface has them: name, subject, version
    # @param normalize [Boolean] whether the registry compares normalized schemas: the order of properties, say, does not count
    # @return [Integer] its id; the old one, where the subject has this very schema
    # @raise [Error]
    def register(subject, schema, type: "AVRO", references: [], normalize: false)
      field(post("/subjects/#{HTTP.escape(subject)}/versions#{"?normalize=true" if normalize}", schema, type, references), "id")
    end

    # @param subject [String]
    # @param schema [String, Hash, Array, #json]
    # @param type [String] AVRO, JSON or PROTOBUF
    # @param references [Array<Hash>] see {#register}
    # @param normalize [Boolean] see {#register}
    # @return [Entry] the version of the subject that is this very schema
    # @raise [Error] with the status 404 when there is none
    def lookup(subject, schema, type: "AVRO", references: [], normalize: false)
      keep(entry(post("/subjects/#{HTTP.escape(subject)}#{"?normalize=true" if normalize}", schema, type, references)))
    end

    # @param subject [String]
    # @param schema [String, Hash, Array, #json]
    # @return [Boolean] whether the subject's rules would let it be the next version
    # @raise [Error]
    def compatible?(subject, schema, type: "AVRO", references: [])
      incompatibilities(subject, schema, type:, references:).empty?
    end

    # @param subject [String]
    # @param schema [String, Hash, Array, #json]
    # @return [Array<String>] why the subject's rules would not let it be the next version, as the registry says it; empty
    #   when they would, and for a subject that does not exist yet
    # @raise [Error]
    def incompatibilities(subject, schema, type: "AVRO", references: [])
      path = "/compatibility/subjects/#{HTTP.escape(subject)}/versions/latest?verbose=true"
      answer = ask(path) { @http.post(path, body(schema, type, references)) }
      return [] if answer.nil? || field(answer, "is_compatible")

      answer["messages"]&.any? ? answer["messages"] : ["the registry says that it is not compatible, and not why"]
    end

    # For the start of an application: does the registry answer, and are these subjects there?
    # @param subjects [Array<String>]
    # @return [self]
    # @raise [Error] naming what is missing
    def check!(subjects = [])
      known = get("/subjects") || []
      missing = subjects - known
      raise RefusedError, "#{url} has no subject #{missing.join(", ")}" if missing.any?

      self
    end

    # @param entry [Entry]
    # @param strict [Boolean] see {Avro::Schema.parse}
    # @return [Avro::Schema] with the schemas that it refers to, which are fetched
    # @raise [Error]
    # @raise [Avro::SchemaError]
    def avro_schema(entry, strict: false)
      require_relative "avro"
      Avro::Schema.parse(entry.schema, references: avro_references(entry.references, strict:), strict:)
    end

    # @api private
    # @param list [Array<Hash{String=>Object}>] name, subject and version of each
    # @param strict [Boolean] as for {#avro_schema}
    # @return [Array<Avro::Schema>] these, which are fetched
    # @raise as {#avro_schema} does
    def avro_references(list, strict: false) = list.map { |reference| avro_schema(referred(reference), strict:) }

    # Also those that were deleted since (softly): what was written with them can still be read.
    # @param entry [Entry]
    # @return [Array<Array(String, Entry)>] the names by which it refers to other schemas, and these, which are fetched
    # @raise [Error]
    def references(entry)
      entry.references.map { |reference| [reference["name"], referred(reference)] }
    end

    # @param entry [Entry]
    # @return [Hash{String=>Entry}] as {#references}, and what those refer to
    # @raise [Error]
    def all_references(entry)
      references(entry).each_with_object({}) { |(name, other), all| all.update(all_references(other), {name => other}) }
    end

    # Asks each time: what is made of it is worth keeping.
    # @param entry [Entry] of type PROTOBUF
    # @return [String] its FileDescriptorProto, in Base64
    # @raise [Error]
    def serialized(entry)
      answer = get("#{path(entry.id || entry.guid)}?format=serialized")
      answer ? field(answer, "schema") : raise(RefusedError.new("#{url} has no schema #{entry.id || entry.guid}", status: 404))
    end

    def inspect = "#<#{self.class} #{@url}, #{@entries.size} schemas>"

    # @param id [Integer, String] a String is a GUID
    # @return [Boolean] whether the registry did not know it for `unknown_after` seconds; never blocks
    def unknown?(id) = @unknown.unknown?(id)

    # @param id [Integer, String] a String is a GUID
    # @return [Boolean] whether the registry did not know it when it was last asked; never blocks
    def missing?(id) = @unknown.missing?(id)

    # Whether it can be asked, as far as is known; any Ractor. Never blocks.
    # @return [Outage, nil] the one that has lasted longest; nil: it has answered whatever it was asked
    def outage = @outages.current

    private

    def get(path) = ask(path) { @http.get(path) }

    def post(path, schema, type, references)
      ask(path) { @http.post(path, body(schema, type, references)) } ||
        raise(RefusedError.new("#{url} does not know #{path}, or this schema", status: 404))
    end

    def ask(path)
      yield.tap { @outages.answered(path) }
    rescue Error => error
      error.outage? ? @outages.failed(path, error) : @outages.answered(path)
      raise
    end

    def body(schema, type, references)
      {schema: text(schema), schemaType: type, references:}
    end

    def text(schema)
      return schema.json if schema.respond_to?(:json)

      schema.is_a?(String) ? schema : ::JSON.generate(schema)
    end

    def path(id) = id.is_a?(String) ? "/schemas/guids/#{HTTP.escape(id)}" : "/schemas/ids/#{Integer(id)}"

    # Whoever comes in a moment after an attempt that had no answer would wait as long for nothing.
    def fetch(id)
      @outages.check!
      data = get(path(id))
      return keep(entry(data, id.is_a?(String) ? {"guid" => id} : {"id" => id}), id) if data

      @unknown.missing(id)
      nil
    rescue Error
      @unknown.failed(id)
      raise
    end

    def referred(reference)
      subject, version = reference.values_at("subject", "version")
      version(subject, version)
    rescue RefusedError => error
      raise unless error.status == 404

      version(subject, "#{version}?deleted=true")
    end

    def entry(data, known = {})
      field(data, "schema")
      Entry.from({**data, **known})
    end

    # What every answer of a registry has.
    def field(data, name)
      return data[name] if data.is_a?(Hash) && !data[name].nil?

      raise Error.new("#{url} answers without #{name.inspect}; is it a schema registry?", status: 502)
    end

    def keep(entry, id = entry.id)
      @unknown.found(id)
      @entries.add(id, entry)
    end
  end
end
