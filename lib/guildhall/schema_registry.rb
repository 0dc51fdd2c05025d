# frozen_string_literal: true

require_relative "clock"
require_relative "option_rules"
require_relative "shareable"
require_relative "shared_cache"
require_relative "schema_registry/errors"
require_relative "schema_registry/entry"
require_relative "schema_registry/http"
require_relative "schema_registry/outages"
require_relative "schema_registry/references"
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
      user: Credentials::TEXT, password: Credentials::TEXT, token: Credentials::TOKEN, headers: HTTP::HEADERS,
      context: OptionRules.rule("a name") { |name| name.is_a?(String) && name.match?(/\A\.?[^.\s]/) }.or(nil),
      retries: OptionRules.integer(0..),
      unknown_after: OptionRules.seconds(zero: true), unknown_for: OptionRules.seconds(zero: true)
    )
    # What answers may have.
    FIELDS = Ractor.make_shareable({
      "id" => OptionRules.integer(0..0xffff_ffff), "version" => OptionRules.kind("an Integer", Integer),
      "is_compatible" => OptionRules.boolean,
      "references" => OptionRules.rule("a list of names, subjects and versions") do |list|
        list.is_a?(Array) && list.all? do |one|
          one.is_a?(Hash) && one.values_at("name", "subject").all?(String) && one["version"].to_s.match?(/\A-?\w+\z/)
        end
      end,
      **%w[schema schemaType subject guid].to_h { |name| [name, OptionRules.kind("a String", String)] }
    })
    private_constant :RULES, :FIELDS

    autoload :OAuth, File.expand_path("schema_registry/oauth.rb", __dir__)

    # @return [String] without user and password
    attr_reader :url

    # @param url [String, Array<String>] http or https, one or several (also with commas between them): where one server
    #   does not answer, the next one is asked. Each may contain its own user and password
    # @param user [String, nil] for all servers; nil: that of each URL, which then all have or none has
    # @param password [String, nil] likewise
    # @param token [String, OAuth, #call, nil] a bearer token, or what gives one, instead of a user
    # @param headers [Hash{String=>String}] for every request, such as "target-sr-cluster"
    # @param context [String, nil] the registry's context, with or without its dot; nil: the default context
    # @param connect_timeout [Numeric] seconds
    # @param read_timeout [Numeric] seconds, for each read; after {Connection::READ_TIMEOUTS} times as many the whole answer has to be there
    # @param retries [Integer] further attempts after a failed connection, a time-out, or an answer 408, 425, 429 or 5xx; every server
    #   is asked once at least
    # @param unknown_after [Numeric] seconds for which an id that the registry does not know is asked for again; 0: not at all
    # @param unknown_for [Numeric] seconds between two requests for it then, during which it stays unknown
    # @param ca_file [String, nil] certificates to trust; nil: the system's
    # @param certificate [String, nil] path of a client's certificate (PEM)
    # @param key [String, nil] path of its key (PEM)
    # @raise [Guildhall::ArgumentError] when a URL is not one of HTTP, an option is wrong, or a file of certificates cannot be read
    # @raise [NotShareableError] for a token's callable that cannot be shared
    def initialize(url, user: nil, password: nil, token: nil, headers: {}, context: nil, retries: 3, unknown_after: 60, unknown_for: 300,
                   **connection)
      RULES.check!({url:, user:, password:, token:, headers:, context:, retries:, unknown_after:, unknown_for:},
        owner: "Guildhall::SchemaRegistry")
      token = Shareable.callable!(token, "token") if token.respond_to?(:call)
      @http = HTTP.new(url, user:, password:, token:, headers:, context:, retries:, **connection)
      @url = @http.to_s
      @entries = SharedCache.new
      @versions = SharedCache.new # of subjects, which never change
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

    # @return [Entry] its newest version, asked for each time
    # @raise [Error]
    def latest(subject) = version(subject, "latest")

    # @raise [Error]
    def version(subject, version)
      find_version(subject, version) || raise(no_version(subject, version))
    end

    # @param type [String] AVRO, JSON or PROTOBUF
    # @param references [Array<Hash>] as the registry's interface has them: name, subject, version
    # @param normalize [Boolean] whether the registry compares normalized schemas: the order of properties, say, does not count
    # @return [Integer] its id; the old one, where the subject has this very schema
    # @raise [Error]
    def register(subject, schema, type: "AVRO", references: [], normalize: false)
      field(post("/subjects/#{HTTP.escape(subject)}/versions#{"?normalize=true" if normalize}", schema, type, references), "id")
    end

    # @param type [String] AVRO, JSON or PROTOBUF
    # @param references [Array<Hash>] see {#register}
    # @param normalize [Boolean] see {#register}
    # @return [Entry] the version of the subject that is this very schema
    # @raise [Error] with the status 404 when there is none
    def lookup(subject, schema, type: "AVRO", references: [], normalize: false)
      keep(numbered(post("/subjects/#{HTTP.escape(subject)}#{"?normalize=true" if normalize}", schema, type, references)))
    end

    # Which subjects have a schema, for those who read errors; asks each time.
    # @return [Array<String>] empty where the registry does not say it: that is no outage
    def subjects(id)
      @outages.check!
      list = @http.get("#{path(id)}/versions")
      list.is_a?(Array) ? list.filter_map { |one| one["subject"] if one.is_a?(Hash) }.grep(String).uniq : []
    rescue Error
      []
    end

    # @return [Boolean] whether the subject's rules would let it be the next version
    # @raise [Error]
    def compatible?(subject, schema, type: "AVRO", references: [])
      incompatibilities(subject, schema, type:, references:).empty?
    end

    # @return [Array<String>] why the subject's rules would not let it be the next version, as the registry says it; empty
    #   when they would, and for a subject that does not exist yet
    # @raise [Error]
    def incompatibilities(subject, schema, type: "AVRO", references: [])
      path = "/compatibility/subjects/#{HTTP.escape(subject)}/versions/latest?verbose=true"
      answer = @outages.watch(path) { @http.post(path, body(schema, type, references)) }
      return [] if answer.nil? || field(answer, "is_compatible")

      messages = Array(answer["messages"]).grep(String)
      messages.any? ? messages : ["the registry says that it is not compatible, and not why"]
    end

    # For the start of an application: does the registry answer, and are these subjects there?
    # @raise [Error] naming what is missing
    # @raise [Guildhall::ArgumentError] for subjects that are no Array of Strings
    def check!(subjects = [])
      unless subjects.is_a?(Array) && subjects.all?(String)
        raise Guildhall::ArgumentError, "subjects must be an Array of Strings, not #{subjects.inspect}"
      end

      known = get("/subjects") || []
      senseless("something else than a list of subjects") unless known.is_a?(Array)
      missing = subjects - known
      raise RefusedError, "#{url} has no subject #{missing.join(", ")}" if missing.any?

      self
    end

    # @param strict [Boolean] see {Avro::Schema.parse}
    # @return [Avro::Schema] with the schemas that it refers to, which are fetched
    # @raise [Error] also where schemas refer to each other in a cycle
    # @raise [Avro::SchemaError]
    def avro_schema(entry, strict: false) = avro_resolution(strict).make(entry)

    # @api private
    # @param list [Array<Hash{String=>Object}>] name, subject and version of each
    # @param strict [Boolean] as for {#avro_schema}
    # @return [Array<Avro::Schema>] these, which are fetched
    # @raise as {#avro_schema} does
    def avro_references(list, strict: false) = avro_resolution(strict).all(list).map(&:last)

    # Also those that were deleted since (softly): what was written with them can still be read.
    # @return [Array<Array(String, Entry)>] the names by which it refers to other schemas, and these, which are fetched
    # @raise [Error]
    def references(entry)
      entry.references.map { |reference| [reference["name"], referred(reference)] }
    end

    # Makes something of a schema and of all that it leads to: of each once, after what it refers to.
    # @api private
    # @yieldparam entry [Entry] one of them
    # @yieldparam others [Array<Array(String, Object)>] the names by which it refers to others, and what the block has returned for these
    # @return [Object] what the block returns for the schema itself
    # @raise [Error] also where schemas refer to each other in a cycle
    def resolve(entry, &) = References.new(method(:referred), &).make(entry)

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

    def get(path) = @outages.watch(path) { @http.get(path) }

    def post(path, schema, type, references)
      @outages.watch(path) { @http.post(path, body(schema, type, references)) } ||
        raise(RefusedError.new("#{url} does not know #{path}, or this schema", status: 404))
    end

    def body(schema, type, references)
      {schema: text(schema), schemaType: type, references:}.tap { |body| ::JSON.generate(body) }
    rescue ::JSON::GeneratorError, ::JSON::NestingError, EncodingError => error
      raise Guildhall::ArgumentError, "the schema cannot be written as JSON, in UTF-8: #{error.message[0, 200]}"
    end

    def text(schema)
      return schema.json if schema.respond_to?(:json)

      schema.is_a?(String) ? schema : ::JSON.generate(schema)
    end

    def path(id) = id.is_a?(String) ? "/schemas/guids/#{HTTP.escape(id)}" : "/schemas/ids/#{Integer(id)}"

    # Fails at once if the registry has just not answered: a further request would only wait for another time-out.
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

    def avro_resolution(strict)
      require_relative "avro"
      References.new(method(:referred)) { |entry, others| Avro::Schema.parse(entry.schema, references: others.map(&:last), strict:) }
    end

    # A version never changes, other than what "latest" and -1 stand for.
    def referred(reference)
      key = reference.values_at("subject", "version").freeze
      known = @versions[key] and return known

      subject, version = key
      entry = find_version(subject, version) || find_version(subject, version, "?deleted=true") || raise(no_version(subject, version))
      version.to_s.match?(/\A\d+\z/) ? @versions.add(Ractor.make_shareable(key), entry) : entry
    end

    def find_version(subject, version, query = nil)
      data = get("/subjects/#{HTTP.escape(subject)}/versions/#{HTTP.escape(version.to_s)}#{query}") and keep(numbered(data))
    end

    def no_version(subject, version)
      RefusedError.new("#{url} has no version #{version} of the subject #{subject}", status: 404)
    end

    # What has been asked for by its subject.
    def numbered(data)
      field(data, "id")
      entry(data)
    end

    def entry(data, known = {})
      field(data, "schema")
      data = {**data, **known}
      FIELDS.each_key { |name| field(data, name) unless data[name].nil? }
      Entry.from(data)
    end

    def field(data, name)
      senseless("something without #{name.inspect}") unless data.is_a?(Hash) && !data[name].nil?

      problem = FIELDS.fetch(name).problem(data[name])
      problem ? senseless("something whose #{name.inspect} #{problem[0, 200]}") : data[name]
    end

    def senseless(what)
      raise Error.new("#{url} answers with #{what}; is it a schema registry?", status: 502)
    end

    # Several subjects may have the same schema, and so its id: what is returned names the one that was asked for.
    def keep(entry, id = entry.id)
      @unknown.found(id)
      @entries.add(id, entry)
      entry
    end
  end
end
