# frozen_string_literal: true

module Guildhall
  class Avro
    class Schema
      # A field of a record.
      # @!attribute name [String]
      # @!attribute type [Type]
      # @!attribute default [Object, NO_DEFAULT] as in the schema's JSON
      # @!attribute aliases [Array<String>]
      Field = Data.define(:name, :type, :default, :aliases) do
        # @return [Boolean]
        def default? = default != NO_DEFAULT
      end

      # Means that there is no default; nil is one.
      NO_DEFAULT = :no_default
    end
  end
end
