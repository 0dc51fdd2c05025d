# frozen_string_literal: true

require_relative "clock"
require_relative "errors"
require_relative "shared_cache"
require_relative "schema_registry/error"
require_relative "schema_registry/entry"
require_relative "schema_registry/http"

module Guildhall
  # A client of a schema registry (Confluent's, Karapace, Apicurio's compatible interface) for Avro, JSON Schema and
  # Protobuf subjects alike. Frozen and shareable: what it has fetched is known in every Ractor.
  #
  # Fetching blocks, and works in the main Ractor; what is in the cache can be read anywhere. Schemas are fetched once
  # and kept. An id that the registry does not know is remembered as unknown for `unknown_for` seconds. Every request
  # has a connection of its own, which is closed whatever happens: one that was interrupted in mid-read is never used
  # again.
  class SchemaRegistry
    # @return [String] without user and password
    attr_reader :url

    # @param url [String] http or https; user and password may stand in it
    # @param user [String, nil]
    # @param password [String, nil]
    # @param token [String, nil] a bearer token, instead of a user
    # @param connect_timeout [Numeric] seconds
    # @param read_timeout [Numeric] seconds, for each read
    # @param retries [Integer] further attempts after a failed connection, a time-out, or an answer 429 or 5xx; 0: none
    # @param unknown_for [Numeric] seconds for which an unknown id is not asked for again
    # @param ca_file [String, nil] certificates to trust; nil: the system's
    # @param certificate [String, nil] path of a client's certificate (PEM)
    # @param key [String, nil] path of its key (PEM)
    # @raise [Guildhall::ArgumentError] naming all that is wrong
    def initialize(url, user: nil, password: nil, token: nil, connect_timeout: 5, read_timeout: 10, retries: 3,
                   unknown_for: 60, ca_file: nil, certificate: nil, key: nil)
      @http = HTTP.new(url, user:, password:, token:, connect_timeout:, read_timeout:, retries:, ca_file:, certificate:, key:)
      @url = @http.to_s
      @unknown_for = unknown_for
      @entries = SharedCache.new
      @unknown = SharedCache.new
      Ractor.make_shareable(self)
    end

    # @param id [Integer]
    # @return [Entry, nil] nil: the registry does not know it
    # @raise [Error] when the registry cannot be asked
    def schema(id)
      @entries[id] || (fetch(id) unless unknown?(id))
    end

    # @param id [Integer]
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
    # @param schema [String, #json]
    # @param type [String] AVRO, JSON or PROTOBUF
    # @param references [Array<Hash>] as the registry's interface has them: name, subject, version
    # @return [Integer] its id; the old one, where the subject has this very schema
    # @raise [Error]
    def register(subject, schema, type: "AVRO", references: [])
      text = schema.respond_to?(:json) ? schema.json : schema
      answer = @http.post("/subjects/#{HTTP.escape(subject)}/versions", {schema: text, schemaType: type, references:})
      answer.fetch("id")
    end

    # @param subject [String]
    # @param schema [String, #json]
    # @return [Boolean] whether the subject's rules would let it be the next version
    # @raise [Error]
    def compatible?(subject, schema, type: "AVRO")
      text = schema.respond_to?(:json) ? schema.json : schema
      answer = @http.post("/compatibility/subjects/#{HTTP.escape(subject)}/versions/latest", {schema: text, schemaType: type})
      answer.fetch("is_compatible")
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
    # @return [Avro::Schema] with the schemas that it refers to, which are fetched
    # @raise [Error]
    # @raise [Avro::SchemaError]
    def avro_schema(entry)
      require_relative "avro"
      Avro::Schema.parse(entry.schema, references: entry.references.map do |reference|
        avro_schema(version(reference["subject"], reference["version"]))
      end)
    end

    def inspect = "#<#{self.class} #{url}, #{@entries.size} schemas>"

    private

    def fetch(id)
      data = @http.get("/schemas/ids/#{Integer(id)}")
      return keep(Entry.from(data.merge("id" => id))) if data

      @unknown.replace(id, Clock.now + @unknown_for)
      nil
    end

    def keep(entry) = @entries.add(entry.id, entry)

    def unknown?(id)
      limit = @unknown[id] or return false
      return true if Clock.now < limit

      @unknown.delete(id)
      false
    end
  end
end
