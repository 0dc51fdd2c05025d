# frozen_string_literal: true

module Guildhall
  module Kafka
    # What can be subscribed to with `Guildhall::Kafka.instrumentation.subscribe`.
    module Events
      # name => what it tells
      DESCRIPTIONS = {
        "app.running" => "groups",
        "app.stopping" => "the work in progress is being finished",
        "app.stopped" => "everything has ended",
        "consumer.consumed" => "topic, partition, size, read, dropped, seconds, last_offset",
        "consumer.revoked" => "topic, partition",
        "consumer.skipped" => "topic, partition, read, dropped, bytes: a batch of which the deserializer left nothing",
        "consumer.shutdown" => "topic, partition",
        "dead_letter_queue.dispatched" => "topic, partition, offset, to, error_class",
        "error.occurred" => "error, type, and where it happened",
        "lag.measured" => "partitions: group, topic, partition, messages, seconds of each that something was read of",
        "partition.abandoned" => "topic, partition: taken away while its consumer was still at work",
        "partition.paused" => "topic, partition, seconds",
        "partition.resumed" => "topic, partition",
        "partition.stalled" => "topic, partition, position, end_offset, action: it should move and does not; :seek or :rejoin",
        "rebalance.partitions_assigned" => "group, partitions",
        "rebalance.partitions_revoked" => "group, partitions, lost",
        "statistics.emitted" => "group, statistics: librdkafka's, as often as its setting statistics.interval.ms says"
      }.freeze
      NAMES = DESCRIPTIONS.keys.freeze
    end
  end
end
