# frozen_string_literal: true

require_relative "../errors"

module Guildhall
  class SchemaRegistry
    # The registry could not be asked, or refused.
    class Error < StandardError
      include Guildhall::Error

      # @return [Integer, nil] HTTP status; nil when there was no answer
      attr_reader :status

      # @param message [String]
      # @param status [Integer, nil]
      def initialize(message = nil, status: nil)
        super(message)
        @status = status
      end
    end

    # A payload names an unknown schema.
    class UnknownSchemaError < DecodeError
      # @return [Integer, String, nil] the registry's id or GUID
      attr_reader :id

      # @param reason [String]
      # @param id [Integer, String, nil]
      # @param codec [String]
      def initialize(reason = nil, id: nil, **)
        @id = id
        super(reason, **)
      end
    end
  end
end
