# frozen_string_literal: true

require_relative "../errors"

module Guildhall
  class SchemaRegistry
    # The registry could not be asked, or what it answered is no answer of a registry. It says nothing about a payload: for Kafka's
    # consumers it is an outage. What the registry does answer, and refuses, is a {RefusedError}.
    class Error < StandardError
      include Guildhall::Error

      # @return [Integer, nil] HTTP status; nil when there was no answer
      attr_reader :status
      # @return [Float, nil] seconds after which the server wants to be asked again (`Retry-After`); nil: it has not said so
      attr_reader :retry_after

      def initialize(message = nil, status: nil, retry_after: nil)
        super(message)
        @status = status
        @retry_after = retry_after
      end

      # @return [Boolean] whether another attempt may succeed without a change of the request
      def outage? = true
    end

    # The registry has answered, with an error code of its own: it has no such subject or version, or takes no such schema. It would
    # answer the same again.
    class RefusedError < Error
      # @return [Integer, nil] the registry's error code, such as 42201
      attr_reader :code

      def initialize(message = nil, status: nil, code: nil)
        super(message, status:)
        @code = code
      end

      def outage? = false
    end

    # A schema that the registry has cannot be used: it does not compile, or the registry does not have what it refers to. It says nothing
    # about a payload: for Kafka's consumers it is an outage.
    class UnusableSchemaError < SchemaError
      # @return [Integer, String, nil] the registry's id or GUID
      attr_reader :id
      # @return [Array<String>] the subjects that have it, where the registry says so
      attr_reader :subjects

      def initialize(reason = nil, id: nil, subjects: [])
        @id = id
        @subjects = subjects
        super(reason)
      end
    end

    # A payload names an unknown schema.
    class UnknownSchemaError < DecodeError
      # @return [Integer, String, nil] the registry's id or GUID
      attr_reader :id

      # A {Failure} keeps what has a reader of its instance variable's name. Everybody else asks {#pending?}.
      # @api private
      attr_reader :pending

      def initialize(reason = nil, id: nil, pending: false, **)
        @id = id
        @pending = pending
        super(reason, **)
      end

      # @return [Boolean] whether the schema may still be found: the registry is asked for it again, or was not asked yet
      def pending? = @pending || false
    end
  end
end
