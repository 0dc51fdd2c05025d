# frozen_string_literal: true

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
  end
end
