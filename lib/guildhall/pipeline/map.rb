# frozen_string_literal: true

module Guildhall
  class Pipeline
    # The callable's answer becomes the value.
    class Map < Stage
      # @param callable [#call] what it returns has to be shareable where the pipeline runs on a pool
      def initialize(callable, name: :map)
        super
      end
    end
  end
end
