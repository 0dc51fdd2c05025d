# frozen_string_literal: true

require_relative "errors"
require_relative "shareable"

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

    # Builds its tool where it is called, once for each worker (and for each thread that runs deferred payloads), and again
    # in a worker that replaces another.
    class PerWorker
      include Inspection::SelfDescribing

      attr_reader :tool

      # @see Task.per_worker
      def initialize(tool, arguments, options)
        unless tool.is_a?(Class) && tool.method_defined?(:call)
          raise Guildhall::ArgumentError, "per_worker needs a class whose instances have `call`, not #{tool.inspect}"
        end

        @tool = tool
        @arguments = Shareable.check!(arguments.dup.freeze, "arguments")
        @options = Shareable.check!(options.dup.freeze, "options")
        @with_metadata = tool.instance_method(:call).parameters.count { |kind, _| %i[req opt].include?(kind) } >= 2
        Ractor.make_shareable(self)
      end

      # @return [Object] what the tool returns
      def call(payload, metadata = nil)
        @with_metadata ? instance.call(payload, metadata) : instance.call(payload)
      end

      # @api private
      def describe_to(visitor) = visitor.tool(@tool)

      # @return [Boolean] whether the tool takes `(payload, metadata)`
      def takes_metadata? = @with_metadata

      def inspect
        "#<Guildhall::Task.per_worker #{@tool}>"
      end

      private

      def instance
        tools = Thread.current.thread_variable_get(:guildhall_tools)
        Thread.current.thread_variable_set(:guildhall_tools, tools = {}.compare_by_identity) unless tools
        tools[self] ||= @tool.new(*@arguments, **@options)
      end
    end
  end
end
