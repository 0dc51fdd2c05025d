# frozen_string_literal: true

# Breaks a client of librdkafka's as its brokers may.
module ClientFailure
  # By librdkafka's own hook for tests.
  module Hook
    extend FFI::Library

    ffi_lib(*Rdkafka::Bindings.ffi_libraries.map(&:name))
    attach_function :rd_kafka_test_fatal_error, %i[pointer int string], :int
  end
  private_constant :Hook

  # @param code [Integer] librdkafka's, of a fatal error: the client does nothing more
  def self.of(client, code) = client.with_handle { |handle| Hook.rd_kafka_test_fatal_error(handle, code, "of a test") }
end
