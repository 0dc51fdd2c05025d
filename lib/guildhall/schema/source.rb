# frozen_string_literal: true

module Guildhall
  class Schema
    # Schemas as the compiler reads them: a frozen copy of its own with String keys, no part of it twice.
    module Source
      # @param source [Hash, String, true, false, JSON::Document] a String is JSON
      # @raise [SchemaError]
      def self.read(source)
        source = JSON.decode(source) if source.is_a?(String)
        schema = copy(source)
        return schema if schema.is_a?(Hash) || schema == true || schema == false

        raise SchemaError, "a schema is an object, true or false, not #{schema.inspect[0, 40]}"
      rescue DecodeError => error
        raise SchemaError, error.message
      end

      def self.copy(value)
        case value
        when JSON::ObjectDocument, JSON::ArrayDocument then copy(value.decode)
        when Hash then value.to_h { |key, member| [key.to_s.dup.freeze, copy(member)] }.freeze
        when Array then value.map { |element| copy(element) }.freeze
        when String then value.dup.freeze
        when Symbol then value.name
        else value
        end
      end
      private_class_method :copy
    end
  end
end
