# frozen_string_literal: true

module Guildhall
  class Pipeline
    # One step of a pipeline: a frozen, shareable wrapper around a callable, with a name for reports and Failures.
    # Subclasses decide what the callable's answer means.
    class Stage
      include Composable
      include Inspection::SelfDescribing

      attr_reader :name

      # @return [#call] what the stage was made of
      attr_reader :callable

      # @param part [Stage, Pipeline, Codec, #call] codecs decode, what also answers `valid?` validates, others map
      # @raise [Guildhall::ArgumentError]
      def self.all(part)
        case part
        when Stage then [part]
        when Pipeline then part.stages
        when Codec then [Decode.new(part)]
        else [part.respond_to?(:valid?) ? Validate.new(part) : Map.new(part, **own_name(part))]
        end
      end

      def self.own_name(part) = part.respond_to?(:stage_name) ? {name: part.stage_name} : {}
      private_class_method :own_name

      # @param callable [#call] takes `(value)` or `(value, metadata)`
      # @param name [Symbol] what Failures and reports call the stage
      # @raise [NotShareableError] naming the path to what cannot be shared
      # @raise [Guildhall::ArgumentError] for what cannot be called
      def initialize(callable, name:)
        raise Guildhall::ArgumentError, "#{name} needs an object with `call`, not #{callable.inspect}" unless callable.respond_to?(:call)

        @nesting = Inspection.nesting_of(callable)
        @receiver = Shareable.receiver_of(callable)
        @callable = Shareable.callable!(callable, name.to_s)
        @name = name.to_sym
        @with_metadata = Callable.takes_metadata?(@callable)
        @batches = @callable.respond_to?(:call_batch)
        freeze
      end

      # A block is shareable by now, and no longer knows what was around it.
      # @api private
      def describe_to(visitor) = @callable.is_a?(Proc) ? visitor.block(@callable, @nesting) : visitor.task(@callable)

      # @return [Boolean] whether its callable takes `(value, metadata)`
      def takes_metadata? = @with_metadata

      # @return [Object] the value for the next stage, or {DROPPED}
      def call(value, metadata = nil)
        judge(value, @with_metadata ? @callable.call(value, metadata) : @callable.call(value))
      end

      # Many values at once. A callable with `call_batch(values)`, or `call_batch(values, metadata)` where its `call`
      # takes metadata, gets them in one call.
      # @param metadata [Array, nil] as long as values
      # @return [Array, nil] one answer a value; nil where the stage has no way of its own, and is to be called for each
      # @raise what the callable raises; nothing is known about single values then
      def call_batch(values, metadata = nil)
        return unless @batches

        answers = @with_metadata ? @callable.call_batch(values, metadata || []) : @callable.call_batch(values)
        return answers.each_with_index.map { |answer, index| judge(values[index], answer) } if answers.size == values.size

        raise BatchSizeError, "#{@name}: call_batch answered #{answers.size} for #{values.size} values"
      end

      # See {Pipeline#prepare}.
      def prepare(payloads, metadata = nil)
        Callable.prepare(@callable, payloads, metadata) if @callable.respond_to?(:prepare)
      end

      # @api private
      # @return [Stage] for the Ractor that calls: see {Shareable.own}
      def own
        return self unless @callable.is_a?(Proc)

        dup.tap { |copy| copy.instance_variable_set(:@callable, Shareable.own(@callable, @receiver)) }.freeze
      end

      private

      # The value for the next stage, given the callable's answer.
      def judge(_value, answer)
        answer
      end
    end
  end
end
