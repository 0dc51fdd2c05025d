# frozen_string_literal: true

module Guildhall
  class Schema
    # Every schema that can be referred to, by URI and anchor. A frozen one knows the schema itself; a copy of it is
    # what a compiler works with, and reads documents of the registry when they are first referred to.
    class Resources
      # What stands for the name of a `$dynamicAnchor` where 2019-09 has `$recursiveAnchor: true`.
      RECURSIVE = :recursive
      # What a schema may say beside a `$ref` without saying anything about values.
      SILENT = %w[$comment $defs $ref default definitions deprecated description examples readOnly title writeOnly].freeze

      # @return [Location] of the schema itself
      attr_reader :root

      def initialize(source, options)
        @options = options
        @resources = {} # URI => Location
        @anchors = {}   # "URI#name" => Location
        @dynamic = {}   # name => {base URI => Location}
        @locations = {}.compare_by_identity # schema Hash => Location
        @numbers = {} # base URI => Integer
        @root = add(options.uri, source)
      end

      def initialize_copy(_)
        @resources, @anchors, @locations, @numbers = [@resources, @anchors, @locations, @numbers].map(&:dup)
        @dynamic = @dynamic.transform_values(&:dup)
        super
      end

      # @param from [Location] its position
      # @raise [SchemaError]
      def resolve(reference, from)
        uri, fragment = UriReference.resolve(reference, from.base)
        resource = resource(uri) or
          raise SchemaError.new("#{reference} refers to #{uri}, which is neither in the schema nor in the registry", location: from.address)
        return resource if fragment.empty?
        return below(resource, fragment, from) if fragment.start_with?("/")

        @anchors["#{resource.base}##{fragment}"] or
          raise SchemaError.new("#{reference}: there is no anchor #{fragment} in #{uri.empty? ? "the schema" : uri}",
            location: from.address)
      end

      # @return [Location] of the schema inside another one
      def child(parent, *tokens)
        schema = tokens.reduce(parent.schema) { |value, token| value[token] }
        locate(schema, parent, parent.pointer_to(*tokens))
      end

      # @return [Hash{String=>Location}] position of `$dynamicAnchor: name`, by base URI
      def dynamic_anchors(name)
        @dynamic.fetch(name, {})
      end

      # @return [Boolean] whether a resource has a `$dynamicAnchor`
      def dynamic?(base)
        @dynamic.each_value.any? { |locations| locations.key?(base) }
      end

      # @return [Array<String>] locations of keywords that say nothing about values in their draft
      def ignored
        @locations.values.uniq.flat_map do |location|
          keywords = location.schema.keys
          beside = location.dialect.old? && location.schema.key?("$ref") ? keywords - SILENT - ["$schema", location.dialect.id_keyword] : []
          (beside | (keywords & location.dialect.unknown)).map { |keyword| "#{location.address}/#{Pointer.escape(keyword)}" }
        end
      end

      # @return [Integer] a small number for a base URI
      def number(base)
        @numbers[base] ||= @numbers.size
      end

      private

      def resource(uri)
        @resources[uri] || load(uri)
      end

      def load(uri)
        document = @options.registry[uri]
        document = Metaschemas.find(uri) if document.nil?
        return if document.nil?

        add(uri, document)
        @resources[uri]
      end

      def add(uri, document)
        dialect = Dialect.of(document.is_a?(Hash) ? document["$schema"] : nil, @options)
        # A document is found by the URI it was given and by the one it gives itself.
        location = Location.new(schema: document, document: uri, pointer: "", base: uri, dialect:)
        location = index(location)
        @resources[uri] ||= location
        location
      rescue SchemaError => error
        raise error.location ? error : SchemaError.new(error.message, location: "#{uri}#")
      end

      # Indexes a schema and all in it. Returns its location, with the base URI that its own `$id` makes.
      def index(location)
        schema = location.schema
        return location unless schema.is_a?(Hash)
        return @locations[schema] if @locations.key?(schema)

        location = identify(location)
        @locations[schema] = location
        note_anchors(location)
        each_child(location) { |child, *tokens| index(location.with(schema: child, pointer: location.pointer_to(*tokens))) }
        location
      end

      # Up to draft-07, `$ref` makes all keywords beside it void, `$id` too.
      def identify(location)
        id = location.schema[location.dialect.id_keyword]
        return location if !id.is_a?(String) || (location.dialect.old? && location.schema.key?("$ref"))

        base, fragment = UriReference.resolve(id, location.base)
        if location.dialect.old? && !fragment.empty?
          @anchors["#{base}##{fragment}"] = location
          return location if id.start_with?("#")
        end
        dialect = location.schema.key?("$schema") ? Dialect.of(location.schema["$schema"], @options) : location.dialect
        location = location.with(base:, dialect:)
        @resources[base] = location
      end

      def note_anchors(location)
        return if location.dialect.old?

        %w[$anchor $dynamicAnchor].each do |keyword|
          name = location.schema[keyword]
          @anchors["#{location.base}##{name}"] = location if name.is_a?(String)
        end
        name = location.schema["$dynamicAnchor"]
        (@dynamic[name] ||= {})[location.base] = location if name.is_a?(String)
        (@dynamic[RECURSIVE] ||= {})[location.base] = location if recursive_anchor?(location)
      end

      def recursive_anchor?(location)
        schema = location.schema
        location.dialect.draft == "2019-09" && schema["$recursiveAnchor"] == true && (location.pointer.empty? || schema.key?("$id"))
      end

      def each_child(location)
        schema = location.schema
        dialect = location.dialect
        dialect.single.each { |keyword| yield schema[keyword], keyword if schema[keyword].is_a?(Hash) }
        dialect.lists.each do |keyword|
          schema[keyword].each_with_index { |child, i| yield child, keyword, i } if schema[keyword].is_a?(Array)
        end
        dialect.maps.each do |keyword|
          schema[keyword].each { |name, child| yield child, keyword, name if child.is_a?(Hash) } if schema[keyword].is_a?(Hash)
        end
      end

      # A pointer may cross into schemas with base URIs of their own, or lead where no keyword puts a schema.
      def below(resource, pointer, from)
        value = resource.schema
        parent = resource
        at = resource.pointer
        Pointer.tokens(pointer).each do |token|
          value = Pointer.step(value, token) { nowhere(pointer, resource, from) }
          parent = @locations.fetch(value, parent) if value.is_a?(Hash)
          at += "/#{Pointer.escape(token)}"
        end
        locate(value, parent, at)
      end

      def nowhere(pointer, resource, from)
        raise SchemaError.new("#{pointer} is an unresolved $ref in #{resource.address}", location: from.address)
      end

      def locate(schema, parent, pointer)
        return @locations[schema] if schema.is_a?(Hash) && @locations.key?(schema)

        found = parent.with(schema:, pointer:)
        return index(found) if schema.is_a?(Hash)
        return found if schema == true || schema == false

        raise SchemaError.new("a schema is an object, true or false, not #{schema.inspect[0, 40]}", location: found.address)
      end
    end
  end
end
