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
        # @return [Object] what the block returns
        def restore(headers, &)
          json = headers[HEADER]
          json && @names.any? ? set(::JSON.parse(json).slice(*@names).to_a, &) : yield
        end

        private

        def classes = @names.map(&:constantize)

        def serialized(current)
          ::ActiveJob::Arguments.serialize([current.attributes.compact])
        end

        def set(pairs, &block)
          return yield if pairs.empty?

          (name, attributes), *rest = pairs
          current = name.constantize
          known = ::ActiveJob::Arguments.deserialize(attributes).first.select { |attribute, _| current.respond_to?(:"#{attribute}=") }
          current.set(known) { set(rest, &block) }
        end
      end
    end
  end
end
