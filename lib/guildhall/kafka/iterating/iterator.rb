# frozen_string_literal: true

require_relative "../deserializing/plan"
require_relative "../messages/batch"
require_relative "source"
require_relative "span"

module Guildhall
  module Kafka
    # Reads topics in scripts and consoles, without a consumer group.
    module Iterating
      # The messages of a topic, one after the other, in order within each partition. Payloads are decoded by the reader, or on
      # the pool while the caller works on those before them. Belongs to one thread.
      class Iterator
        # @param topic [Routing::Topic] whose deserializer holds
        # @param settings [Hash{Symbol=>Object}] librdkafka's
        # @param config [Config]
        # @param partitions [Array<Integer>, nil]
        # @param span [Span]
        # @yieldreturn [Guildhall::Pool]
        def initialize(topic, settings, config, partitions, span, &)
          @topic = topic
          @settings = settings
          @config = config
          @partitions = partitions
          @span = span
          @plan = Deserializing::Plan.new(topic, config.deserializing.parallel, &)
        end

        # @yieldparam message [Message]
        # @return [void]
        def each(&)
          source = Source.new(@settings, @topic.name, @plan.codec, @config)
          source.open(@partitions, @span)
          ahead = []
          until ahead.empty? && source.finished?
            read(source, ahead)
            ahead.shift&.then { |batch| batch.messages.each(&) }
          end
        ensure
          source&.close
        end

        private

        # One batch ahead, so that workers have something to do meanwhile.
        def read(source, ahead)
          return if ahead.size > 1 || source.finished?

          source.read(wait: ahead.empty?) do |records, bytes, documents|
            ahead << Messages::Batch.new(records, @plan.begin(records, self, documents), @topic, bytes:)
          end
        end
      end
    end
  end
end
