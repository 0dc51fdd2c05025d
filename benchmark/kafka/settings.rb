# frozen_string_literal: true

# The same librdkafka settings for every contender.
SETTINGS = {"auto.offset.reset": "earliest", "fetch.queue.backoff.ms": 5, "queued.max.messages.kbytes": 200_000,
            "fetch.message.max.bytes": 10_000_000}.freeze
