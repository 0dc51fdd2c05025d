# frozen_string_literal: true

require_relative "errors"
require_relative "shareable"
require_relative "task/per_worker"

module Guildhall
  # Ways to make a task: any frozen, shareable object with `call(payload)` or `call(payload, metadata)`.
  module Task
    # A task that is built once in every worker, for tools that cannot be shared.
    # @param tool [Class] its instances answer `call`
    # @param arguments [Array] for `tool.new`; shareable
    # @param options [Hash] for `tool.new`; shareable
    # @raise [NotShareableError] naming the argument that is not
    # @raise [Guildhall::ArgumentError] when instances have no `call`
    def self.per_worker(tool, *arguments, **options)
      PerWorker.new(tool, arguments, options)
    end
  end
end
