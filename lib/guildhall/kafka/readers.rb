# frozen_string_literal: true

require_relative "librdkafka"
require_relative "read_error"

module Guildhall
  module Kafka
    # Which reader there is: the native one where its extension was built, else the one in Ruby.
    module Readers
      # @param kind [Symbol, nil] :native, :ffi, or nil: the best that is there
      # @param client [Client]
      # @return [Reader, FFIReader]
      # @raise [MissingDependencyError] when :native was asked for and is not there
      def self.open(kind, client)
        client.with_handle { |handle| kind == :ffi || !native?(kind) ? ffi(handle) : native(handle) }
      end

      # @return [Boolean]
      def self.native?(kind)
        require "guildhall/kafka/native"
        true
      rescue LoadError => error
        raise MissingDependencyError, "reader: :native needs the extension of guildhall-kafka: #{error.message}" if kind == :native

        false
      end
      private_class_method :native?

      def self.native(handle)
        Reader.new(handle.address, Librdkafka.addresses)
      end
      private_class_method :native

      def self.ffi(handle)
        require_relative "ffi_reader"
        FFIReader.new(handle)
      end
      private_class_method :ffi
    end
  end
end
