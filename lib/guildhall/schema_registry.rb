# frozen_string_literal: true

require_relative "clock"
require_relative "option_rules"
require_relative "shareable"
require_relative "shared_cache"
require_relative "schema_registry/errors"
require_relative "schema_registry/entry"
require_relative "schema_registry/http"
require_relative "schema_registry/subject"

module Guildhall
  # A client of a schema registry (Confluent's, Karapace, Apicurio's compatible interface) for Avro, JSON Schema and
  # Protobuf subjects alike. Frozen and shareable: what it has fetched is known in every Ractor.
  #
  # Fetching blocks, and works in the main Ractor; what is in the cache can be read anywhere. Schemas are fetched once
  # and kept. An id that the registry does not know is remembered as unknown for `unknown_for` seconds. Every request
  # has a connection of its own, which is closed whatever happens: one that was interrupted in mid-read is never used
  # again.
  class SchemaRegistry
    RULES = OptionRules.new(
      url: OptionRules.rule("a String or an Array of Strings") { |url| url.is_a?(String) || (url.is_a?(Array) && url.all?(String)) },
      user: Credentials::TEXT, password: Credentials::TEXT, token: Credentials::TOKEN, headers: OptionRules.kind("a Hash of Strings", Hash),
      context: OptionRules.kind("a String", String).or(nil), retries: OptionRules.integer(0..), unknown_for: OptionRules.seconds(zero: true)
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
    # @param retries [Integer] further attempts after a failed connection, a time-out, or an answer 429 or 5xx; every server
    #   is asked once at least
    # @param unknown_for [Numeric] seconds for which an unknown id is not asked for again
    # @param ca_file [String, nil] certificates to trust; nil: the system's
    # @param certificate [String, nil] path of a client's certificate (PEM)
    # @param key [String, nil] path of its key (PEM)
    # @raise [Guildhall::ArgumentError] when a URL is not one of HTTP, or an option is wrong
    # @raise [NotShareableError] for a token's callable that cannot be shared
    def initialize(url, user: nil, password: nil, token: nil, headers: {}, context: nil, retries: 3, unknown_for: 60, **connection)
      RULES.check!({url:, user:, password:, token:, headers:, context:, retries:, unknown_for:}, owner: "Guildhall::SchemaRegistry")
      token = Shareable.callable!(token, "token") if token.respond_to?(:call)
      @http = HTTP.new(url, user:, password:, token:, headers:, context:, retries:, **connection)
      @url = @http.to_s
      @unknown_for = unknown_for
      @entries = SharedCache.new
      @unknown = SharedCache.new
      Ractor.make_shareable(self)
    end

    # @param id [Integer, String] a String is a GUID
    # @return [Entry, nil] nil: the registry does not know it
    # @raise [Error] when the registry cannot be asked
    def schema(id)
      @entries[id] || (fetch(id) unless unknown?(id))
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
      data = @http.get("/subjects/#{HTTP.escape(subject)}/versions/#{version}")
      raise Error.new("#{url} has no version #{version} of the subject #{subject}", status: 404) unless data

      keep(Entry.from(data))
    end

    # @param subject [String]
    # @param schema [String, Hash, Array, #json]
    # @param type [String] AVRO, JSON or PROTOBUF
    # @param references [Array<Hash>] as the registry's interface has them: name, subject, version
    # @return [Integer] its id; the old one, where the subject has this very schema
    # @raise [Error]
    def register(subject, schema, type: "AVRO", references: [])
      post("/subjects/#{HTTP.escape(subject)}/versions", schema, type, references).fetch("id")
    end

    # @param subject [String]
    # @param schema [String, Hash, Array, #json]
    # @return [Entry] the version of the subject that is this very schema
    # @raise [Error] with the status 404 when there is none
    def lookup(subject, schema, type: "AVRO", references: [])
      keep(Entry.from(post("/subjects/#{HTTP.escape(subject)}", schema, type, references)))
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
      answer = @http.post(path, body(schema, type, references))
      return [] if answer.nil? || answer.fetch("is_compatible")

      answer["messages"]&.any? ? answer["messages"] : ["the registry says that it is not compatible, and not why"]
    end

    # For the start of an application: does the registry answer, and are these subjects there?
    # @param subjects [Array<String>]
    # @return [self]
    # @raise [Error] naming what is missing
    def check!(subjects = [])
      known = @http.get("/subjects") || []
      missing = subjects - known
      raise Error, "#{url} has no subject #{missing.join(", ")}" if missing.any?

      self
    end

    # @param entry [Entry]
    # @param strict [Boolean] see {Avro::Schema.parse}
    # @return [Avro::Schema] with the schemas that it refers to, which are fetched
    # @raise [Error]
    # @raise [Avro::SchemaError]
    def avro_schema(entry, strict: false)
      require_relative "avro"
      Avro::Schema.parse(entry.schema, references: references(entry).map { |_name, other| avro_schema(other, strict:) }, strict:)
    end

    # @param entry [Entry]
    # @return [Array<Array(String, Entry)>] the names by which it refers to other schemas, and these, which are fetched
    # @raise [Error]
    def references(entry)
      entry.references.map { |reference| [reference["name"], version(reference["subject"], reference["version"])] }
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
      path = entry.id ? "/schemas/ids/#{entry.id}" : "/schemas/guids/#{HTTP.escape(entry.guid)}"
      answer = @http.get("#{path}?format=serialized")
      answer ? answer.fetch("schema") : raise(Error.new("#{url} has no schema #{entry.id || entry.guid}", status: 404))
    end

    def inspect = "#<#{self.class} #{@url}, #{@entries.size} schemas>"

    # @param id [Integer, String] a String is a GUID
    # @return [Boolean] whether the registry has said so lately; never blocks
    def unknown?(id)
      limit = @unknown[id] or return false
      return true if Clock.now < limit

      @unknown.delete(id)
      false
    end

    private

    def post(path, schema, type, references)
      @http.post(path, body(schema, type, references)) || raise(Error.new("#{url} does not know #{path}, or this schema", status: 404))
    end

    def body(schema, type, references)
      {schema: text(schema), schemaType: type, references:}
    end

    def text(schema)
      return schema.json if schema.respond_to?(:json)

      schema.is_a?(String) ? schema : ::JSON.generate(schema)
    end

    def fetch(id)
      data = @http.get(id.is_a?(String) ? "/schemas/guids/#{HTTP.escape(id)}" : "/schemas/ids/#{Integer(id)}")
      return keep(Entry.from(id.is_a?(String) ? {"guid" => id, **data} : data.merge("id" => id)), id) if data

      @unknown.replace(id, Clock.now + @unknown_for)
      nil
    end

    def keep(entry, id = entry.id) = @entries.add(id, entry)
  end
end
