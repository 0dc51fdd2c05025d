# frozen_string_literal: true

require_relative "../decoding"
require_relative "../messages/batch"
require_relative "offset_range"
require_relative "session"

module Guildhall
  module Kafka
    module Broker
      # The messages of a topic, one after the other, in order within each partition. Payloads are decoded by the reader, or on
      # the pool while the caller works on those before them. Belongs to one thread.
      # @api private
      class Iterator
        MAX_WAIT_MS = 1_000
        private_constant :MAX_WAIT_MS

        # @param silence [Numeric] as of {TopicReader#initialize}, for a range that ends
        def initialize(topic, settings, config, partitions, range, silence: Session::SILENCE_SECONDS, &)
          @topic = topic
          @settings = settings
          @config = config
          @partitions = partitions
          @range = range
          @silence = range.endless? ? nil : silence
          @decoding = Decoding.new(topic, &)
        end

        def each(&)
          Session.open(@settings) do |session|
            limits = {max_messages: @config.max_messages, max_bytes: @config.max_bytes, silence: @silence}
            session.reading(ranges(session), codec: @decoding.codec, **limits) do |reader|
              ahead = []
              until ahead.empty? && reader.finished?
                read_ahead(reader, ahead)
                ahead.shift&.then { |batch| batch.messages.each(&) }
              end
            end
          end
        end

        private

        def ranges(session) = @range.resolve(session, session.topic(@topic.name), @partitions)

        # Keeps one batch ahead, so that workers decode it while the caller works on the one before.
        def read_ahead(reader, ahead)
          return if ahead.size > 1 || reader.finished?

          reader.read(ahead.empty? ? MAX_WAIT_MS : 0) do |_, records, bytes, decoded|
            ahead << Messages::Batch.new(records, @decoding.begin(records, self, decoded), @topic, bytes:)
          end
        end
      end
    end
  end
end
