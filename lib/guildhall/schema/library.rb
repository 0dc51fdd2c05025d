# frozen_string_literal: true

module Guildhall
  class Schema
    # Every schema that can be referred to, by URI and anchor. A frozen one knows the schema itself; a copy of it is
    # what a compiler works with, and reads documents of the registry when they are first referred to.
    class Library
      # @return [Place] of the schema itself
      attr_reader :root

      # @param source [Hash, true, false]
      # @param options [Options]
      def initialize(source, options)
        @options = options
        @resources = {} # URI => Place
        @anchors = {}   # "URI#name" => Place
        @dynamic = {}   # name => {base URI => Place}
        @places = {}.compare_by_identity # schema Hash => Place
        @numbers = {} # base URI => Integer
        @root = add(options.uri, source)
      end

      def initialize_copy(_)
        @resources, @anchors, @places, @numbers = [@resources, @anchors, @places, @numbers].map(&:dup)
        @dynamic = @dynamic.transform_values(&:dup)
        super
      end

      # @param reference [String]
      # @param from [Place] where it stands
      # @return [Place]
      # @raise [SchemaError]
      def resolve(reference, from)
        uri, fragment = UriReference.resolve(reference, from.base)
        resource = resource(uri) or
          raise SchemaError.new("#{reference} leads to #{uri}, which is neither in the schema nor in the registry", location: from.address)
        return resource if fragment.empty?
        return below(resource, fragment, from) if fragment.start_with?("/")

        @anchors["#{resource.base}##{fragment}"] or
          raise SchemaError.new("#{reference}: there is no anchor #{fragment} in #{uri.empty? ? "the schema" : uri}",
            location: from.address)
      end

      # @param parent [Place]
      # @param tokens [Array<String, Integer>]
      # @return [Place] of the schema inside another one
      def child(parent, *tokens)
        schema = tokens.reduce(parent.schema) { |value, token| value[token] }
        place(schema, parent, parent.pointer_to(*tokens))
      end

      # @param name [String]
      # @return [Hash{String=>Place}] where `$dynamicAnchor: name` stands, by base URI
      def dynamic_anchors(name)
        @dynamic.fetch(name, {})
      end

      # @return [Boolean] whether a resource has a `$dynamicAnchor`
      def dynamic?(base)
        @dynamic.each_value.any? { |places| places.key?(base) }
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
        document = Metaschemas::ALL[uri] if document.nil?
        return if document.nil?

        add(uri, document)
        @resources[uri]
      end

      def add(uri, document)
        dialect = Dialect.of(document.is_a?(Hash) ? document["$schema"] : nil, @options)
        # A document is found by the URI it was given and by the one it gives itself.
        place = Place.new(schema: document, document: uri, pointer: "", base: uri, dialect:)
        place = index(place)
        @resources[uri] ||= place
        place
      rescue SchemaError => error
        raise error.location ? error : SchemaError.new(error.message, location: "#{uri}#")
      end

      # Notes a schema and all in it. Returns its place, with the base URI that its own `$id` makes.
      def index(place)
        schema = place.schema
        return place unless schema.is_a?(Hash)
        return @places[schema] if @places.key?(schema)

        place = identify(place)
        @places[schema] = place
        note_anchors(place)
        each_child(place) { |child, *tokens| index(place.with(schema: child, pointer: place.pointer_to(*tokens))) }
        place
      end

      # In draft-07 nothing beside a `$ref` counts, its `$id` neither.
      def identify(place)
        id = place.schema["$id"]
        return place if !id.is_a?(String) || (place.dialect.draft7? && place.schema.key?("$ref"))

        base, fragment = UriReference.resolve(id, place.base)
        if place.dialect.draft7? && !fragment.empty?
          @anchors["#{base}##{fragment}"] = place
          return place if id.start_with?("#")
        end
        place = place.with(base:, dialect: place.schema.key?("$schema") ? Dialect.of(place.schema["$schema"], @options) : place.dialect)
        @resources[base] = place
      end

      def note_anchors(place)
        return if place.dialect.draft7?

        %w[$anchor $dynamicAnchor].each do |keyword|
          name = place.schema[keyword]
          @anchors["#{place.base}##{name}"] = place if name.is_a?(String)
        end
        name = place.schema["$dynamicAnchor"]
        (@dynamic[name] ||= {})[place.base] = place if name.is_a?(String)
      end

      def each_child(place)
        schema = place.schema
        dialect = place.dialect
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
          parent = @places.fetch(value, parent) if value.is_a?(Hash)
          at += "/#{Pointer.escape(token)}"
        end
        place(value, parent, at)
      end

      def nowhere(pointer, resource, from)
        raise SchemaError.new("#{pointer} leads nowhere in #{resource.address}", location: from.address)
      end

      def place(schema, parent, pointer)
        return @places[schema] if schema.is_a?(Hash) && @places.key?(schema)

        found = parent.with(schema:, pointer:)
        return index(found) if schema.is_a?(Hash)
        return found if schema == true || schema == false

        raise SchemaError.new("a schema is an object, true or false, not #{schema.inspect[0, 40]}", location: found.address)
      end
    end
  end
end
