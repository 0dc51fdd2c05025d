# frozen_string_literal: true

require "guildhall/errors"
require_relative "../errors"

module Guildhall
  module Kafka
    module Processing
      # Classifies an error by its cause: a service that is out of reach (:outage), the payload's bytes (:undecodable), or
      # anything else (:other). An outage is retried for as long as it lasts and is never counted as an attempt;
      # undecodable payloads need no second look; everything else counts as an attempt.
      module ErrorKind
        # Looked up by name when asked: only what is loaded can have been raised.
        OUTAGES = %w[IOError SystemCallError SocketError Timeout::Error OpenSSL::SSL::SSLError].freeze
        UNDECODABLE = [DecodeError, ValidationError].freeze
        TOO_MANY_REQUESTS = 429
        private_constant :OUTAGES, :UNDECODABLE, :TOO_MANY_REQUESTS

        # @param error [Exception]
        # @param topic [Routing::Topic] whose route may name further classes that are outages
        # @return [Symbol] :outage, :undecodable or :other
        def self.of(error, topic)
          return :outage if topic.retries.transient.any? { |klass| error.is_a?(klass) } || outage?(error)
          return :other if unknown_schema?(error)

          UNDECODABLE.any? { |klass| error.is_a?(klass) } ? :undecodable : :other
        end

        def self.outage?(error)
          return true if error.is_a?(TransactionError)
          return false if error.is_a?(StuckError) # a payload that exceeds its deadline: caused by the payload, though it is a time-out
          return outage_of_registry?(error) if registry?(error)
          return error.cause ? outage?(error.cause) : false if unknown_schema?(error)

          OUTAGES.any? { |name| Object.const_defined?(name) && error.is_a?(Object.const_get(name)) }
        end
        private_class_method :outage?

        def self.registry?(error)
          defined?(SchemaRegistry::Error) && error.is_a?(SchemaRegistry::Error)
        end
        private_class_method :registry?

        # A registry that refuses a request will refuse it again.
        def self.outage_of_registry?(error)
          error.status.nil? || error.status >= 500 || error.status == TOO_MANY_REQUESTS
        end
        private_class_method :outage_of_registry?

        # It may mean that the registry could not be asked.
        def self.unknown_schema?(error)
          defined?(Avro::UnknownSchemaError) && error.is_a?(Avro::UnknownSchemaError)
        end
        private_class_method :unknown_schema?
      end
    end
  end
end
