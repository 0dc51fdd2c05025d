# frozen_string_literal: true

require_relative "librdkafka"

module Guildhall
  module Kafka
    module Connection
      # Who a consumer is in its group, and in which generation of it: the group coordinator refuses offsets of an earlier one. Stands
      # for the consumer where the gem sends offsets to a transaction, because there it would be asked too late.
      class GroupMetadata
        # @param pointer [FFI::Pointer] librdkafka's, of which this is the owner
        def initialize(pointer)
          @pointer = pointer
        end

        # Called by the gem, which destroys it.
        def consumer_group_metadata_pointer = @pointer.tap { @pointer = nil }

        def destroy
          Rdkafka::Bindings.rd_kafka_consumer_group_metadata_destroy(@pointer) if @pointer
          @pointer = nil
        end
      end
    end
  end
end
