# frozen_string_literal: true

module Guildhall
  class Schema
    # Schemas as the compiler reads them: a frozen copy of its own with String keys, all texts in UTF-8, no part of it twice.
    module Source
      # @param source [Hash, String, true, false, JSON::Document] a String is JSON
      # @param uri [String] of the document
      # @raise [SchemaError]
      def self.read(source, uri = "")
        source = JSON.decode(source) if source.is_a?(String)
        schema = copy(source, "#{uri}#")
        return schema if schema.is_a?(Hash) || schema == true || schema == false

        raise SchemaError, "a schema is an object, true or false, not #{schema.inspect[0, 40]}"
      rescue DecodeError => error
        raise SchemaError, error.message
      end

      # @param text [String] in any encoding; binary: taken for UTF-8
      # @param location [String] its place, for errors
      # @return [String] frozen, UTF-8
      # @raise [SchemaError] for what is no text
      def self.text(text, location)
        utf8 = SharedRegexp.utf8(text) or raise SchemaError.new("#{text.inspect[0, 40]} cannot be read as UTF-8", location:)
        utf8.dup.freeze
      end

      def self.copy(value, location)
        case value
        when JSON::ObjectDocument, JSON::ArrayDocument then copy(value.decode, location)
        when Hash then value.to_h { |key, member| pair(text(key.to_s, location), member, location) }.freeze
        when Array then value.map.with_index { |element, index| copy(element, "#{location}/#{index}") }.freeze
        when String, Symbol then text(value.to_s, location)
        else value
        end
      end
      private_class_method :copy

      def self.pair(key, member, location) = [key, copy(member, "#{location}/#{Pointer.escape(key)}")]
      private_class_method :pair
    end
  end
end
