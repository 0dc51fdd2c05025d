# frozen_string_literal: true

require "json"
require "guildhall/option_rules"

module Guildhall
  module Kafka
    module ActiveJob
      # The header of a job's message with attributes of `ActiveSupport::CurrentAttributes`. Classes are known by their names, because a
      # reload makes new ones.
      class CurrentAttributesHeader
        NAME = "current_attributes"
        CLASS = OptionRules.rule("a class of ActiveSupport::CurrentAttributes, or its name") do |one|
          one.is_a?(Class) ? one < ActiveSupport::CurrentAttributes : one.is_a?(String) || one.is_a?(Symbol)
        end
        private_constant :CLASS

        # @raise [Guildhall::ArgumentError] naming each that is no such class
        def initialize(classes)
          wrong = classes.filter_map { |one| CLASS.problem(one) }
          raise Guildhall::ArgumentError, "current_attributes: each #{wrong.uniq.join("; ")}" if wrong.any?

          @names = classes.map(&:to_s).freeze
        end

        # @return [Hash{String=>String}] empty where nothing is set
        # @raise [::ActiveJob::SerializationError]
        def headers
          set = @names.map(&:constantize).to_h { |one| [one.name, one.attributes.compact] }.reject { |_, attributes| attributes.empty? }
          set.empty? ? {} : {NAME => ::JSON.generate(set.transform_values { |attributes| ::ActiveJob::Arguments.serialize([attributes]) })}
        end

        # @param headers [Hash{String=>String}] a message's
        # @return [Hash{Class=>Hash{Symbol=>Object}}] attributes for {#with}, without those that the class has no longer
        # @raise [::ActiveJob::DeserializationError] for a record that is gone
        # @raise [Kafka::UndecodableMessageError] for a header that {#headers} has not made
        def read(headers)
          json = headers[NAME]
          return {} unless json && @names.any?

          parse(json).slice(*@names).to_h do |name, serialized|
            current = name.constantize
            attributes = ::ActiveJob::Arguments.deserialize(serialized).first
            [current, attributes.select { |attribute, _| current.respond_to?(:"#{attribute}=") }]
          end
        end

        # Runs the block with the attributes of {#read} set.
        def with(all, &block)
          all.to_a.reverse.reduce(block) { |inner, (current, attributes)| -> { current.set(attributes, &inner) } }.call
        end

        private

        # @return [Hash{String=>Array(Hash)}] by class
        def parse(json)
          all = json.is_a?(String) ? ::JSON.parse(json) : refuse("is there #{json.size} times")
          all.is_a?(Hash) && all.each_value.all? { |one| one in [Hash] } ? all : refuse("is not a map of attributes by class")
        rescue ::JSON::ParserError
          refuse("is invalid JSON")
        end

        def refuse(reason)
          raise Kafka::UndecodableMessageError.new("the header #{NAME} #{reason}", codec: "job")
        end
      end
    end
  end
end
