# frozen_string_literal: true

module Guildhall
  module Kafka
    # Sends messages.
    module Producing
      # The value of a header that has none. The gem would produce it as an empty text: it calls `to_s`, and hands librdkafka the result
      # as a pointer with a size.
      NULL_HEADER = Class.new do
        # @return [self]
        def to_s = self

        # @return [Integer]
        def bytesize = 0

        # @return [FFI::Pointer]
        def to_ptr = FFI::Pointer::NULL
      end.new.freeze

      # @param headers [Hash{String=>String, nil, Array}]
      # @return [Hash{String=>Object}] for a client of the gem
      def self.native_headers(headers)
        headers.transform_values do |value|
          value.is_a?(Array) ? value.map { |one| one.nil? ? NULL_HEADER : one } : value || NULL_HEADER
        end
      end
    end
  end
end
