# frozen_string_literal: true

require "guildhall/kafka/decoding"
require_relative "plain_record"

# Records that no broker has sent, and the decoding of a route.
module KafkaRecords
  private

  # @param payloads [Array<String, nil>]
  # @return [Array<PlainRecord>] shareable
  def records(*payloads)
    Ractor.make_shareable(payloads.each_with_index.map do |raw_payload, offset|
      PlainRecord.new(topic: "t", partition: 0, offset:, timestamp_ms: nil, key: nil, raw_payload:, headers: {})
    end)
  end

  # @return [Guildhall::Kafka::Routing::Topic]
  def route(&settings)
    builder = Guildhall::Kafka::Routing::TopicBuilder.new("t", "g", Guildhall::Kafka::Config::Problems.new)
    builder.instance_eval(&settings) if settings
    builder.build
  end

  # @return [Guildhall::Kafka::Decoding]
  def decoding(pool = nil, runners: nil, **options, &settings)
    Guildhall::Kafka::Decoding.new(route(&settings), runners, **options) { pool || flunk("nobody needs a pool") }
  end

  def with_pool(**settings)
    pool = Guildhall::Pool.new(workers: 1, **settings)
    yield(pool)
  ensure
    pool.shutdown(timeout: 5)
  end
end
