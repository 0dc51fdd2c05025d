# frozen_string_literal: true

module Guildhall
  module Kafka
    module Producing
      # What waterdrop says about each call of a producer.
      module Measuring
        # @yieldparam figures [Hash{Symbol=>Object}] topic, size, bytes, seconds and sync
        def self.subscribe(producer)
          %w[sync async].each do |way|
            producer.monitor.subscribe("message.produced_#{way}") { |event| yield(figures([event[:message]], event, way)) }
            producer.monitor.subscribe("messages.produced_#{way}") { |event| yield(figures(event[:messages], event, way)) }
          end
        end

        # Waterdrop's times are milliseconds.
        def self.figures(messages, event, way)
          topics = messages.map { |message| message[:topic] }.uniq
          {topic: (topics.first if topics.one?), size: messages.size, sync: way == "sync",
           bytes: messages.sum { |message| message[:payload].to_s.bytesize }, seconds: event.payload[:time].to_f / 1000}
        end
        private_class_method :figures
      end
    end
  end
end
