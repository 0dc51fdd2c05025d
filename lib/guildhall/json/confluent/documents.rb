# frozen_string_literal: true

module Guildhall
  class JSON
    class Confluent
      # The documents that a JSON Schema of a registry leads to, by the URIs by which `$ref` finds them. A reference's name is relative to
      # the URI of the schema that has it, as its `$ref` is. Names that are relative to the first schema's URI instead, as those of Java's
      # client are, are found as well, where they mean one schema.
      # @api private
      class Documents
        MOST = 1_000
        private_constant :MOST

        # A schema, and by names what it refers to.
        Node = Data.define(:entry, :others) do
          # @return [String] the URI that it gives itself, or the one that it was found by
          def base(uri)
            schema = JSON.decode(entry.schema)
            id = schema[schema["$schema"].to_s.include?("/draft-04/") ? "id" : "$id"] if schema.is_a?(Hash)
            id.is_a?(String) ? Schema::UriReference.resolve(id, uri).first : uri
          end

          # @return [Boolean] whether both say the same
          def same?(other) = entry.schema == other.entry.schema && entry.references == other.entry.references
        end

        def initialize(root)
          @root = root
          @found = {}
          @named = Hash.new { |names, uri| names[uri] = [] }
        end

        # @return [Hash{String=>String}] schemas by URI
        # @raise [SchemaError] where one URI means two schemas
        def to_h
          first = @root.base("")
          waiting = [[first, @root]]
          while (base, node = waiting.shift)
            node.others.each do |name, other|
              @named[absolute(name, first)] << other
              uri = absolute(name, base)
              waiting << [other.base(uri), other] if add?(uri, other)
            end
          end
          {**unambiguous, **@found}.transform_values { |node| node.entry.schema }
        end

        private

        def add?(uri, node)
          before = @found[uri]
          raise SchemaError, two_schemas(uri, before.entry, node.entry) unless before.nil? || before.same?(node)
          raise SchemaError, "it leads to more than #{MOST} documents" if @found.size >= MOST

          @found[uri] = node
          before.nil?
        end

        def unambiguous = @named.transform_values(&:first).select { |uri, node| @named[uri].all? { |other| other.same?(node) } }

        def two_schemas(uri, *entries)
          versions = entries.map { |entry| "version #{entry.version} of #{entry.subject}" }
          "its references mean two schemas by #{uri}: #{versions.join(" and ")}"
        end

        def absolute(name, base) = Schema::UriReference.resolve(name, base).first
      end
    end
  end
end
