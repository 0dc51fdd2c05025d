# frozen_string_literal: true

require_relative "kafka_error"

module Guildhall
  module Kafka
    # An error after which librdkafka's client does nothing more, such as that another process has joined the group under the
    # same `group.instance.id`. To join anew would only throw the other one out.
    class FatalError < KafkaError
      # What to do about it, by the code's name.
      ADVICE = {
        "FENCED_INSTANCE_ID" => "another process has joined the group under the same group.instance.id: give each its own"
      }.freeze
      SIZE = 512 # bytes of text at most

      # @param client [Client]
      # @return [FatalError]
      def self.of(client)
        text = FFI::MemoryPointer.new(:char, SIZE)
        code = client.with_handle { |handle| Librdkafka.rd_kafka_fatal_error(handle, text, SIZE) }
        name = Librdkafka.error_name(code)
        new(code, name, [text.read_string, *ADVICE[name]].join("; "))
      end
    end
  end
end
