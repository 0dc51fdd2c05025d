# frozen_string_literal: true

require_relative "selection"

module Guildhall
  module Kafka
    module Filtering
      # The filters of one partition, for the time of its assignment. Used by one runner at a time.
      class Chain
        # @yieldparam name [String] of a filter that has rejected messages
        # @yieldparam count [Integer] how many
        def initialize(routes, &on_rejected)
          @filters = routes.map { |route| [route.name, route.build] }
          @on_rejected = on_rejected
        end

        # @return [Selection] what the filters have left of it
        def call(batch)
          selection = Selection.new(batch)
          @filters.each do |name, filter|
            before = selection.rejected.size
            filter.call(selection)
            rejected = selection.rejected.size - before
            @on_rejected.call(name, rejected) if rejected.positive?
            break if selection.empty?
          end
          selection
        end
      end
    end
  end
end
