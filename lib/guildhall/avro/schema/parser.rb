# frozen_string_literal: true

require_relative "type"
require_relative "field"

module Guildhall
  class Avro
    class Schema
      # JSON data → {Type}s, names resolved.
      # @api private
      class Parser
        # The letters of all languages, as Java's library has it by default; other libraries write A to Z only.
        NAME = /\A[\p{L}_][\p{L}\p{Nd}_]*\z/u
        PRIMITIVES = Type::PRIMITIVES.map { |kind| kind.to_s.freeze }.freeze
        RESERVED = (PRIMITIVES + %w[array map union record enum fixed error]).freeze
        private_constant :NAME, :PRIMITIVES, :RESERVED

        # @param references [Array<Type>] named types that the schema may refer to
        # @param strict [Boolean] see {Schema.parse}
        def initialize(references = [], strict: true)
          @strict = strict
          @names = {}
          references.each { |type| collect(type) }
        end

        # @param json [Hash, Array, String] parsed JSON
        # @raise [SchemaError]
        def parse(json, namespace = nil)
          case json
          when String then primitive(json) || reference(json, namespace)
          when Array then union(json, namespace)
          when Hash then complex(json, namespace)
          else refuse("#{json.inspect} is not a schema")
          end
        end

        private

        def refuse(message)
          raise SchemaError, "Avro schema: #{message}"
        end

        # What reading does not depend on.
        def refuse_if_strict(message)
          refuse("#{message}; #{READING}") if @strict
        end

        def check_name(name, what)
          refuse_if_strict("#{name.inspect} is not a valid #{what}") unless NAME.match?(name)
        end

        def primitive(name, **)
          Type.new(name.to_sym, **) if Type::PRIMITIVES.include?(name.to_sym)
        end

        def reference(name, namespace)
          full = full_name(name, namespace)
          @names[full] || @names[name] || refuse("#{name.inspect} is neither a type nor the name of one defined before")
        end

        def full_name(name, namespace)
          name.include?(".") || namespace.nil? || namespace.empty? ? name : "#{namespace}.#{name}"
        end

        def union(list, namespace)
          branches = list.map { |branch| parse(branch, namespace) }
          refuse("a union directly within a union") if branches.any?(&:union?)
          doubled = branches.map { |branch| branch.name || branch.kind.to_s }.tally.find { |_, count| count > 1 }
          refuse("a union with two branches #{doubled.first}") if doubled
          Type.new(:union, branches:)
        end

        def complex(json, namespace)
          kind = json.fetch("type") { refuse("no \"type\" in #{json.inspect[0, 100]}") }
          return parse(kind, namespace) unless kind.is_a?(String)

          case kind
          when "record", "error", "enum", "fixed" then named(kind, json, namespace)
          when "array" then Type.new(:array, items: parse(need(json, "items"), namespace))
          when "map" then Type.new(:map, items: parse(need(json, "values"), namespace))
          else primitive(kind, **annotations(json)) || reference(kind, namespace)
          end
        end

        def need(json, key)
          json.fetch(key) { refuse("no #{key.inspect} in #{json["type"]} #{json["name"]}".rstrip) }
        end

        def annotations(json)
          {logical: json["logicalType"], precision: json["precision"], scale: json["scale"]}
        end

        def named(kind, json, around)
          name, namespace = name_of(json, around)
          full_aliases = aliases(json).map { |name_of_old| full_name(name_of_old, namespace) }
          type = Type.new(kind == "error" ? :record : kind.to_sym, name:, aliases: full_aliases)
          refuse("the name #{name} is defined twice") if @names.key?(name)
          @names[name] = type
          type.complete(**send(:"#{type.kind}_attributes", json, namespace))
        end

        def name_of(json, around)
          name = need(json, "name")
          refuse("#{name.inspect} is not a valid name") unless name.is_a?(String)
          namespace = json.fetch("namespace", around)
          refuse("the namespace of #{name} is not a String") unless namespace.nil? || namespace.is_a?(String)
          name = full_name(name, namespace)
          refuse("#{name} is the name of a type of Avro's own") if (@strict ? RESERVED : PRIMITIVES).include?(name)
          namespace, dot, short = name.rpartition(".")
          check_name(short, "name")
          "#{namespace}#{dot}".each_line(".", chomp: true) { |part| check_name(part, "part of a namespace") }
          [name, namespace[/.+/mu]]
        end

        def aliases(json)
          list = json["aliases"] || []
          refuse("aliases of #{json["name"]} are not a list of Strings") unless list.is_a?(Array) && list.all?(String)
          list
        end

        def record_attributes(json, namespace)
          list = need(json, "fields")
          refuse("fields of #{json["name"]} are not a list") unless list.is_a?(Array) && list.all?(Hash)
          fields = list.map { |field| field(field, namespace) }
          doubled, = fields.map(&:name).tally.find { |_, count| count > 1 }
          refuse("#{json["name"]} has two fields #{doubled}") if doubled
          {fields:}
        end

        def field(json, namespace)
          name = need(json, "name")
          refuse("#{name.inspect} is not a valid name of a field") unless name.is_a?(String)
          check_name(name, "name of a field")
          Field.new(name:, type: parse(need(json, "type"), namespace), default: json.fetch("default", NO_DEFAULT), aliases: aliases(json))
        end

        def enum_attributes(json, _namespace)
          symbols = need(json, "symbols")
          refuse("symbols of #{json["name"]} are not a list of names") unless symbols.is_a?(Array) && symbols.all?(String)
          refuse_if_strict("symbols of #{json["name"]} are not a list of names") unless symbols.all?(NAME)
          refuse("#{json["name"]} has the same symbol twice") if symbols.uniq.size < symbols.size
          default = json["default"]
          refuse_if_strict("default #{default.inspect} of #{json["name"]} is none of its symbols") if default && !symbols.include?(default)
          {symbols:, default: (default if symbols.include?(default))}
        end

        def fixed_attributes(json, _namespace)
          size = need(json, "size")
          refuse("size of #{json["name"]} is #{size.inspect}") unless size.is_a?(Integer) && size.between?(0, 0x0fffffff)
          {size:, **annotations(json)}
        end

        # Named types of a schema that others may refer to.
        def collect(type, seen = {}.compare_by_identity)
          return if seen[type]

          seen[type] = true
          @names[type.name] = type if type.named?
          [type.items, *type.branches, *type.fields&.map(&:type)].compact.each { |part| collect(part, seen) }
        end
      end
    end
  end
end
