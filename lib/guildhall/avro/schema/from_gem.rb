# frozen_string_literal: true

module Guildhall
  class Avro
    class Schema
      # Schema objects of the gem avro → JSON data. Its own `to_avro` leaves out the aliases of fields.
      # @api private
      class FromGem
        def initialize
          @seen = {}
        end

        def convert(schema)
          case schema.type_sym
          when :union then schema.schemas.map { |branch| convert(branch) }
          when :array then {"type" => "array", "items" => convert(schema.items)}
          when :map then {"type" => "map", "values" => convert(schema.values)}
          when :record, :error, :enum, :fixed then named(schema)
          else primitive(schema)
          end
        end

        private

        def named(schema)
          return schema.fullname if @seen[schema.fullname]

          @seen[schema.fullname] = true
          {"type" => schema.type_sym.to_s, "name" => schema.fullname, "namespace" => schema.namespace.to_s,
           "aliases" => schema.fullname_aliases, **details(schema)}
        end

        def details(schema)
          case schema.type_sym
          when :enum then {"symbols" => schema.symbols, "default" => schema.default}
          when :fixed then {"size" => schema.size, **logical(schema)}
          else {"fields" => schema.fields.map { |field| field(field) }}
          end
        end

        def field(field)
          made = {"name" => field.name, "type" => convert(field.type), "aliases" => field.aliases}
          field.default? ? made.merge("default" => field.default) : made
        end

        def primitive(schema)
          schema.logical_type ? {"type" => schema.type_sym.to_s, **logical(schema)} : schema.type_sym.to_s
        end

        def logical(schema)
          decimal = schema.respond_to?(:precision) ? {"precision" => schema.precision, "scale" => schema.scale} : {}
          {"logicalType" => schema.logical_type, **decimal}
        end
      end
    end
  end
end
