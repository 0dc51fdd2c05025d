# frozen_string_literal: true

require_relative "../broker/librdkafka"

module Guildhall
  module Kafka
    module Producing
      # Lets through what Kafka allows and waterdrop or its client do not: headers without a value, empty keys, and frozen headers (those of
      # a consumed message) to which a middleware adds.
      module Wire
        # Stands for the value of a header: the client asks for its pointer, and librdkafka sends NULL.
        class Null
          def to_s = self
          def to_ptr = FFI::Pointer::NULL
          def bytesize = 0
        end

        # Stands for the value of a header where waterdrop wants a String.
        class NoValue < String
          NULL = Null.new.freeze
          private_constant :NULL

          def to_s = NULL
        end

        # An empty key that waterdrop does not refuse.
        class EmptyKey < String
          def empty? = false
        end

        NO_VALUE = NoValue.new.freeze
        EMPTY_KEY = EmptyKey.new.freeze
        private_constant :Null, :NoValue, :EmptyKey, :NO_VALUE, :EMPTY_KEY

        # Extends waterdrop's middleware.
        module Middleware
          def run(message) = Wire.pack(super(Wire.thaw(message)))
          def run_many(messages) = messages.map { |message| run(message) }
        end

        # @return [Hash] the same message, or a copy, whose headers may be added to
        def self.thaw(message)
          headers = message[:headers]
          return message unless message.frozen? || headers.frozen?

          headers.nil? ? message.dup : message.merge(headers: headers.dup)
        end

        # @return [Hash] the same message, or a copy that waterdrop takes
        def self.pack(message)
          headers = headers(message[:headers])
          message = message.merge(headers:) unless headers.equal?(message[:headers])
          message[:key] == "" ? message.merge(key: EMPTY_KEY) : message
        end

        # @return [Hash{String=>Object}, nil] the same headers, or a copy that the client takes
        def self.headers(headers)
          return headers unless headers.is_a?(Hash) && headers.any? { |_, value| value.nil? || (value.is_a?(Array) && value.include?(nil)) }

          headers.transform_values { |value| value.is_a?(Array) ? value.map { |one| one.nil? ? NO_VALUE : one } : value || NO_VALUE }
        end

        # Undoes {.headers}, for those who look at sent messages.
        def self.plain(headers)
          plain = ->(value) { NO_VALUE.equal?(value) ? nil : value }
          headers&.transform_values { |value| value.is_a?(Array) ? value.map(&plain) : plain.call(value) }
        end
      end
    end
  end
end
