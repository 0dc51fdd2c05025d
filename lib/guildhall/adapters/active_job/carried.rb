# frozen_string_literal: true

require "json"

module Guildhall
  module Adapters
    module ActiveJob
      # Attributes of `ActiveSupport::CurrentAttributes` that travel in a header of a job's message. Classes are known by their
      # names, because a reload makes new ones.
      class Carried
        HEADER = "current_attributes"

        # @param classes [Array<Class, String>]
        def initialize(classes)
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
        def read(headers)
          json = headers[HEADER]
          return {} unless json && @names.any?

          ::JSON.parse(json).slice(*@names).to_h { |name, attributes| known(name.constantize, attributes) }
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

        # Without those that the class has no longer.
        def known(current, attributes)
          [current, ::ActiveJob::Arguments.deserialize(attributes).first.select { |name, _| current.respond_to?(:"#{name}=") }]
        end
      end
    end
  end
end
