# frozen_string_literal: true

require_relative "../document"

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
        unless callable.respond_to?(:call)
          raise Guildhall::ArgumentError, "#{name} needs an object with `call`, not #{callable.inspect}" \
                                          "#{": take its `validator`" if callable.respond_to?(:validator)}"
        end

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

    # Bytes in, a frozen object out, by a codec.
    class Decode < Stage
      def initialize(codec, name: :decode)
        super
      end

      def codec
        @callable
      end

      # All payloads by the codec's own `decode_batch`, where it brings one.
      # @return [Array, nil] nil: the codec decodes them one by one
      # @raise what the codec raises; nothing is known about single payloads then
      def call_batch(payloads, _metadata = nil)
        return unless codec.respond_to?(:decode_batch) && codec.method(:decode_batch).owner != Codec

        values = codec.decode_batch(payloads)
        return values if values.size == payloads.size

        raise BatchSizeError, "#{name}: decode_batch answered #{values.size} for #{payloads.size} payloads"
      end
    end

    # Lets valid values through unchanged and raises {ValidationError} for the others.
    #
    # The callable answers true for what is valid and false or nil for what is not; an Enumerable of errors, empty for what is
    # valid (an Array, json_schemer's Enumerator, a Hash of messages); or a result with `success?` or `errors`, as
    # dry-validation and Active Model have them. They become the {ValidationError}'s `errors`. Any other answer, which
    # may be a value where a verdict was meant, is an error and no verdict.
    class Validate < Stage
      def initialize(callable, name: :validate)
        super
      end

      private

      # @raise [ValidationError]
      # @raise [Guildhall::ArgumentError] for an answer that is not a verdict
      def judge(value, answer)
        # The usual answers for what is valid; Verdict says the same, and takes longer.
        return value if true.equal?(answer) || (answer.instance_of?(Array) && answer.empty?)

        errors = Verdict.errors(answer) { |other| raise Guildhall::ArgumentError, no_verdict(other) }
        errors ? raise(ValidationError.new(errors:, stage: @name)) : value
      end

      def no_verdict(answer)
        "#{@name}: the callable answered a #{answer.class}; it answers true or false, an Enumerable of errors, or a result " \
          "with success? or errors"
      end
    end

    # Lets through the values for which the callable's answer is true; the others are {DROPPED}.
    class Select < Stage
      def initialize(callable, name: :select)
        super
      end

      private

      def judge(value, answer)
        answer ? value : DROPPED
      end
    end

    # Lets through the values for which the callable's answer is false or nil; the others are {DROPPED}.
    class Reject < Stage
      def initialize(callable, name: :reject)
        super
      end

      private

      def judge(value, answer)
        answer ? DROPPED : value
      end
    end

    # The callable's answer becomes the value.
    class Map < Stage
      # @param callable [#call] what it returns has to be shareable where the pipeline runs on a pool
      def initialize(callable, name: :map)
        super
      end
    end

    # An object in, frozen bytes out, by a codec.
    class Encode < Stage
      attr_reader :codec

      # @raise [Guildhall::ArgumentError] for a codec that cannot encode
      # @raise [NotShareableError]
      def initialize(codec, name: :encode)
        raise Guildhall::ArgumentError, "#{name} needs a codec with `encode`, not #{codec.inspect}" unless codec.respond_to?(:encode)

        @codec = Shareable.check!(codec, name.to_s)
        super(Encoder.new(@codec), name:)
      end
    end

    # A codec's `encode` as a callable.
    Encoder = Data.define(:codec) do
      # @return [String] frozen
      def call(object)
        codec.encode(object)
      end
    end
    private_constant :Encoder

    # Reads the answers of validators.
    # @api private
    module Verdict
      class << self
        # @yieldparam answer [Object] one that is not a verdict
        # @return [Array, nil] what is wrong; nil: nothing
        def errors(answer, &)
          case answer
          when true then nil
          when false, nil then []
          when Array, Hash then list(answer)
          when Document then yield(answer)
          else of_object(answer, &)
          end
        end

        private

        # A result that says both is believed: it may have warnings among its errors.
        def of_object(answer)
          return (list(errors_of(answer)) || [] unless answer.success?) if answer.respond_to?(:success?)
          return list(answer.errors) if answer.respond_to?(:errors)

          answer.is_a?(Enumerable) ? list(answer) : yield(answer)
        end

        def errors_of(answer) = answer.respond_to?(:errors) ? answer.errors : []

        # @return [Array, nil] nil for no errors at all
        def list(errors)
          messages = errors.respond_to?(:full_messages) ? errors.full_messages : entries(errors)
          messages unless messages.empty?
        end

        def entries(errors)
          return errors.map { |name, messages| "#{name} #{Array(messages).join(", ")}" } if errors.is_a?(Hash)

          errors.map { |error| message?(error) ? "#{Array(error.path).join(".")} #{error.text}".strip : error }.to_a # of a lazy one, too
        end

        # Of dry-schema and dry-validation.
        def message?(error) = error.respond_to?(:path) && error.respond_to?(:text)
      end
    end
    private_constant :Verdict
  end
end
