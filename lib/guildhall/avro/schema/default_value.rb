# frozen_string_literal: true

require_relative "defaults"
require_relative "../branch"

module Guildhall
  class Avro
    class Schema
      # What a decoder puts in for a field that the writer does not have: the default's JSON data in the form in which the codec
      # gives a value that was written.
      # @api private
      class DefaultValue
        # @param logical [Logical] which logical types become Ruby values
        # @param key [#call] makes a record's key of a field's name
        # @param tagged_unions [Boolean] whether a record in a union is a {Branch}
        def initialize(logical, key: :itself.to_proc, tagged_unions: false)
          @logical = logical
          @key = key
          @tagged_unions = tagged_unions
          @open = [] # fields whose defaults are being made
        end

        # @return [Object] not frozen
        # @raise [SchemaError] for what is no value of the type, where the schema was not checked ({Defaults.check}), and for what
        #   the logical type refuses
        def of(type, json)
          refuse(type, json) unless Defaults.fits?(type, json)

          fitting(type, json)
        end

        private

        def refuse(type, json)
          raise SchemaError, "Avro schema: default #{json.inspect} is not a valid #{type}, and is needed: the writer has no such field"
        end

        def fitting(type, json)
          return branch(type.branches.find { |branch| Defaults.fits?(branch, json) }, json) if type.union?

          made = raw(type, json)
          value = @logical.decode(type, made)
          value = made if type.kind == :string && value.nil? # a default "" of a uuid is in use
          raise SchemaError, "Avro schema: default #{json.inspect} is not a valid #{type.logical}" if value.nil? && !made.nil?

          value
        end

        def branch(type, json)
          value = fitting(type, json)
          @tagged_unions && type.kind == :record ? Branch.new(name: type.name, value:) : value
        end

        def raw(type, json)
          case type.kind
          when :float, :double then Float(json)
          when :bytes, :fixed then json.encode(Encoding::ISO_8859_1).b # in JSON each character is a byte
          when :array then json.map { |item| fitting(type.items, item) }
          when :map then json.transform_values { |item| fitting(type.items, item) }
          when :record then record(type, json)
          else json
          end
        end

        def record(type, json)
          type.fields.to_h do |field|
            [@key.call(field.name), json.key?(field.name) ? fitting(field.type, json[field.name]) : default_within(field)]
          end
        end

        def default_within(field)
          raise SchemaError, "Avro schema: the default of #{field.name} contains itself" if @open.any? { |one| one.equal?(field) }

          @open.push(field)
          of(field.type, field.default).tap { @open.pop }
        end
      end
    end
  end
end
