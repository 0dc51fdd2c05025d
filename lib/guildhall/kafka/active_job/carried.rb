# frozen_string_literal: true

require "json"
require "guildhall/option_rules"

module Guildhall
  module Kafka
    module ActiveJob
      # Attributes of `ActiveSupport::CurrentAttributes` that travel in a header of a job's message. Classes are known by their
      # names, because a reload makes new ones.
      class Carried
        HEADER = "current_attributes"
        CLASS = OptionRules.rule("a class of ActiveSupport::CurrentAttributes, or its name") do |one|
          one.is_a?(Class) ? one < ActiveSupport::CurrentAttributes : one.is_a?(String) || one.is_a?(Symbol)
        end
        private_constant :CLASS

        # @raise [Guildhall::ArgumentError] for what is no such class
        def initialize(classes)
          wrong = classes.filter_map { |one| CLASS.problem(one) }
          raise Guildhall::ArgumentError, "current_attributes: each #{wrong.uniq.join("; ")}" if wrong.any?

          @names = classes.map(&:to_s).freeze
        end

        # @return [Hash{String=>String}] headers; empty where nothing is set
        # @raise [::ActiveJob::SerializationError]
        def headers
          set = classes.filter_map { |one| [one.name, serialized(one)] if one.attributes.compact.any? }.to_h
          set.empty? ? {} : {HEADER => ::JSON.generate(set)}
        end

        # @param headers [Hash{String=>String}] a message's
        # @return [Hash{Class=>Hash{Symbol=>Object}}] attributes for {#with}
        # @raise [::ActiveJob::DeserializationError] for a record that is gone
        # @raise [Kafka::UndecodableMessageError] for a header that {#headers} has not made
        def read(headers)
          json = headers[HEADER]
          return {} unless json && @names.any?

          parse(json).slice(*@names).to_h { |name, attributes| known(name.constantize, attributes) }
        end

        # @param all [Hash{Class=>Hash}] of {#read}
        # @return [Object] what the block returns
        def with(all, &block)
          all.to_a.reverse.reduce(block) { |inner, (current, attributes)| -> { current.set(attributes, &inner) } }.call
        end

        private

        def classes = @names.map(&:constantize)

        def serialized(current)
          ::ActiveJob::Arguments.serialize([current.attributes.compact])
        end

        # @return [Hash{String=>Array(Hash)}] by class
        def parse(json)
          all = json.is_a?(String) ? ::JSON.parse(json) : refuse("is there #{json.size} times")
          all.is_a?(Hash) && all.each_value.all? { |one| one in [Hash] } ? all : refuse("is not a map of attributes by class")
        rescue ::JSON::ParserError
          refuse("is invalid JSON")
        end

        def refuse(reason)
          raise Kafka::UndecodableMessageError.new("the header #{HEADER} #{reason}", codec: "job")
        end

        # Without those that the class has no longer.
        def known(current, attributes)
          [current, ::ActiveJob::Arguments.deserialize(attributes).first.select { |name, _| current.respond_to?(:"#{name}=") }]
        end
      end
    end
  end
end
