# frozen_string_literal: true

# The same librdkafka settings for every contender. With Guildhall, queued.max.messages.kbytes counts for each of the 5
# partitions: there it is a fifth, so that all may hold the same amount of memory.
SETTINGS = {"auto.offset.reset": "earliest", "fetch.queue.backoff.ms": 5, "fetch.wait.max.ms": 50, "queued.max.messages.kbytes": 50_000,
            "fetch.message.max.bytes": 10_000_000}.freeze
