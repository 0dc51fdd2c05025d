# frozen_string_literal: true

module Guildhall
  class SchemaRegistry
    # The names of subjects, by Confluent's three strategies.
    module Subject
      STRATEGIES = %i[topic record topic_record].freeze

      # @param strategy [Symbol] `:topic` (the default of Confluent's clients), `:record` or `:topic_record`
      # @param record [String, nil] full name of the record or message, title of the JSON Schema
      # @param key [Boolean] for the keys of messages, not for their payloads; matters to `:topic` only
      # @return [String] `orders-value`, `com.example.Order` or `orders-com.example.Order`
      # @raise [Guildhall::ArgumentError] naming what is missing
      def self.for(strategy, topic: nil, record: nil, key: false)
        case strategy
        when :topic then "#{needed(topic, :topic, strategy)}-#{key ? "key" : "value"}"
        when :record then needed(record, :record, strategy)
        when :topic_record then "#{needed(topic, :topic, strategy)}-#{needed(record, :record, strategy)}"
        else raise Guildhall::ArgumentError, "subject_name: is one of #{STRATEGIES.map(&:inspect).join(", ")}, not #{strategy.inspect}"
        end
      end

      def self.needed(value, name, strategy)
        value || raise(Guildhall::ArgumentError, "subject_name: #{strategy.inspect} needs the name of the #{name}")
      end
      private_class_method :needed
    end
  end
end
