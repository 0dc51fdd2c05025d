# frozen_string_literal: true

# A server of a soak: it consumes all streams, as a member of their group. Its consumers are slow now and then, raise, and end up with poison.
require_relative "role"

module Soaking
  # Raises as the plan says.
  module Mishaps
    SEEN = {} # rubocop:disable Style/MutableConstant -- what this process has raised at
    LOCK = Mutex.new

    class Poisoned < StandardError; end
    class Flaky < StandardError; end

    module_function

    # @return [Array(String, Integer, Integer)] sender, number and when it was sent
    def identify(message)
      payload = message.payload
      [payload["s"], payload["n"], payload["t"]]
    end

    # @param first [Boolean] false: it comes from a retry topic, where each process would move it on
    def meet(sender, number, first: true)
      raise Poisoned, "bad" if Plan.poison(number)
      raise Flaky, "the first time" if first && Plan.flaky?(number) && first_here?(sender, number)

      sleep(Plan::SLOW_SECONDS) if Plan.slow?(number)
    end

    def first_here?(sender, number) = LOCK.synchronize { !SEEN[[sender, number]] && (SEEN[[sender, number]] = true) }
  end

  class Noting < Guildhall::Kafka::Consumer
    def consume
      messages.each_marking do |message|
        sender, number, sent = Mishaps.identify(message)
        Mishaps.meet(sender, number, first: Role::TOPICS.value?(topic_name))
        Role.note("h", sender, number, Plan.now - sent)
      end
    end
  end

  class Copying < Guildhall::Kafka::Consumer
    SLICE = 20

    def consume
      messages.each_slice(SLICE) do |slice|
        transaction do
          slice.each do |message|
            sender, number, = Mishaps.identify(message)
            Mishaps.meet(sender, number)
            produce_async(topic: Role::TOPICS[:out], key: message.key, payload: message.raw_payload)
          end
          mark_as_consumed(slice.last)
        end
      end
    end
  end
end

Soaking::Role.end_with_parent
Soaking::Role.configure do |config|
  config.kafka = {**Soaking::Role::GIVEN.fetch(:kafka), "auto.offset.reset": "earliest", **Soaking::Role::GIVEN.fetch(:group)}
  config.producer = {"transaction.timeout.ms": 20_000}
  config.group_id = Soaking::Role::GIVEN.fetch(:run)
  config.commit_interval = 1
  config.max_messages = 100
  config.pause_timeout = 0.1
  config.pause_max_timeout = 2
  config.shutdown_timeout = 20
end
Guildhall::Kafka.routes do
  topics = Soaking::Role::TOPICS
  defaults { deserializer Guildhall::JSON }
  topic(topics[:plain]) do
    consumer Soaking::Noting
    dead_letter_queue topic: topics[:dead], max_retries: 2, dispatch_undecodable: true
  end
  topic(topics[:keyed]) do
    consumer Soaking::Noting
    ordering :key
    dead_letter_queue topic: topics[:dead], max_retries: 2, dispatch_undecodable: true
  end
  topic(topics[:tx]) do
    consumer Soaking::Copying
    transactional
  end
  topic(topics[:retried]) do
    consumer Soaking::Noting
    retry_topics 1, 3, prefix: "#{topics[:retried]}.again"
    dead_letter_queue topic: topics[:dead], dispatch_undecodable: true
  end
  schedule do
    task("soak", "* * * * * *") { |due| Soaking::Role.note("r", "soak", due.to_i) }
  end
end
exit(Guildhall::Kafka.run)
