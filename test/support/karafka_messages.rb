# frozen_string_literal: true

# Messages as Karafka builds them, and its event after a fetch.
module KarafkaMessages
  # Batches of one partition each, as the listener has them.
  Buffer = Struct.new(:batches) do
    def each
      batches.each_with_index { |messages, index| yield(index.zero? ? "topic" : "topic#{index}", 3, messages, false, 0.0) }
    end
  end
  Group = Struct.new(:id)

  # @param payloads [Array<String, nil>]
  # @param deserializer [#call] for {Guildhall::Karafka.parallel}, or what that has returned
  # @return [Array<Karafka::Messages::Message>] that Karafka has just fetched
  def fetched(payloads, deserializer, **)
    deserializer = Guildhall::Karafka.parallel(deserializer, **) unless deserializer.is_a?(Guildhall::Karafka::Deserializer)
    build(payloads, deserializer).tap { |messages| publish(messages) }
  end

  # @return [Array<Karafka::Messages::Message>]
  def build(payloads, deserializer)
    deserializers = ::Karafka::Routing::Features::Deserializers::Config.new(
      active: true, payload: deserializer, key: ::Karafka::Deserializers::Key.new, headers: ::Karafka::Deserializers::Headers.new
    )
    payloads.each_with_index.map do |payload, offset|
      metadata = ::Karafka::Messages::Metadata.new(offset:, deserializers:, partition: 3, topic: "topic", received_at: Time.now, timestamp: Time.now,
        raw_headers: {"kind" => +"test"}, raw_key: +"key")
      ::Karafka::Messages::Message.new(payload&.dup, metadata).tap { |message| metadata[:message] = message }
    end
  end

  def publish(*batches)
    @errors ||= []
    listener = ->(event) { @errors << event[:error] }
    ::Karafka.monitor.subscribe("error.occurred", &listener)
    ::Karafka.monitor.instrument("connection.listener.fetch_loop.received", subscription_group: Group.new("group"), messages_buffer: Buffer.new(batches))
  ensure
    ::Karafka.monitor.unsubscribe(listener)
  end
end
