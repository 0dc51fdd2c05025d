# frozen_string_literal: true

require_relative "errors"
require_relative "shareable"
require_relative "callable"
require_relative "dropped"
require_relative "codec"
require_relative "failure"
require "guildhall/native"
require_relative "pipeline/composable"
require_relative "pipeline/stage"
require_relative "pipeline/batch"
require_relative "pipeline/measured"

module Guildhall # rubocop:disable Style/Documentation
  # decode → validate → select → map → encode as one frozen, shareable callable, composed with `>>`:
  #
  #     Guildhall::JSON.lazy >> Guildhall.select { |event| event["paid"] } >> Summary.new
  #
  # It is a task like any other: call it in the Ractor you are in, or hand it to a pool. Any Ractor may call it.
  class Pipeline
    include Composable

    # @return [Symbol, nil] the name of the stage that raised it; nil when no pipeline was involved
    def self.stage_of(error) = Failure.stage_of(error)

    # @return [Array<Stage>] in the order in which they run
    attr_reader :stages

    # @return [Array<Symbol>] the stages' names; of several with the same name the later ones are numbered
    #   (`:map`, `:map_2`)
    attr_reader :names

    # Usually made with `>>`.
    # @param stages [Array<#call>] what is not a {Stage} yet becomes one: codecs decode, validators validate, other
    #   callables map
    # @param names [Array<Symbol>, nil] nil: the stages' own, numbered
    # @raise [NotShareableError] naming the path to what cannot be shared
    # @raise [Guildhall::ArgumentError] for what cannot be called
    def initialize(stages, names: nil)
      @stages = stages.flat_map { |stage| Stage.all(stage) }.freeze
      raise Guildhall::ArgumentError, "a pipeline needs a stage" if @stages.empty?

      @names = (names || number(@stages.map(&:name))).freeze
      Ractor.make_shareable(self)
    end

    # @return [Boolean] whether a stage takes metadata: where none does, nobody has to make them
    def takes_metadata? = @stages.any?(&:takes_metadata?)

    # Runs the stages in this Ractor. Does not block, beyond what the stages themselves do.
    # @param payload [Object] what the first stage takes: bytes where it decodes
    # @param metadata [Object, nil] handed to every stage that takes two arguments
    # @return [Object] what the last stage returned, or {DROPPED} when a stage left it out
    # @raise whatever a stage raises; {.stage_of} returns which one
    def call(payload, metadata = nil)
      value = payload
      index = 0
      while index < @stages.size
        value = @stages[index].call(value, metadata)
        return DROPPED if DROPPED.equal?(value)

        index += 1
      end
      value
    rescue Exception => error # rubocop:disable Lint/RescueException -- only marked, then raised on
      Failure.mark(error, @names[index])
      raise
    end

    # Runs the stages on many payloads, one stage after the other: a stage whose callable has `call_batch(values)` gets
    # all values that are left at once.
    # @param metadata [Array, nil] as long as payloads
    # @yieldparam error [Exception] what a payload raised; {.stage_of} returns the stage
    # @yieldparam index [Integer] which payload
    # @yieldreturn [Object] what goes in its place
    # @return [Array] what {#call} returns for each, in order
    # @raise without a block whatever the first payload raises
    def call_batch(payloads, metadata = nil, &)
      Batch.new(payloads, metadata).run(@stages, @names, &)
    end

    # The same pipeline with counters, which all Ractors share; counting costs about 0.2 µs a stage.
    def measured
      Measured.new(@stages, names: @names)
    end

    # @return [nil] see {Measured#stats}
    def stats = nil

    # @return [Codec, nil] the codec of the first stage; nil when the first stage does not decode
    def decoder
      @stages.first.codec if @stages.first.is_a?(Decode)
    end

    # Lets the first stage do what it cannot do in a worker, such as fetch schemas from a registry. A pool calls it in the
    # thread that dispatches, before workers get the batch. May block, where the stage's own `prepare` does.
    # @param metadata [Array, nil] one for each payload
    # @raise what the stage's `prepare` raises
    def prepare(payloads, metadata = nil)
      @stages.first.prepare(payloads, metadata)
      self
    end

    # @return [String, nil] why one of the stages can run in the main Ractor only; nil: all can run in workers
    def inline_reason
      @stages.filter_map { |stage| stage.callable.inline_reason if stage.callable.respond_to?(:inline_reason) }.first
    end

    # @return [Pipeline, nil] what is left to do once {#decoder} has done its part; nil when nothing is left. The
    #   whole pipeline when it has no decoder.
    def rest
      return self unless decoder

      @stages.size > 1 ? Pipeline.new(@stages.drop(1), names: @names.drop(1)) : nil
    end

    # Names the last stage as the origin of a result that cannot leave its Ractor.
    # @api private
    def mark_result(error) = Failure.mark(error, @names.last)

    # @api private
    # @return [Pipeline] for the Ractor that calls: see {Shareable.own}
    def own
      dup.tap { |copy| copy.instance_variable_set(:@stages, @stages.map(&:own).freeze) }.freeze
    end

    def inspect
      "#<#{self.class} #{@names.join(" >> ")}>"
    end

    private

    def number(names)
      names.each_with_index.map do |name, index|
        earlier = names.first(index).count(name)
        earlier.zero? ? name : :"#{name}_#{earlier + 1}"
      end.freeze
    end

    # The stages by name, as module functions of Guildhall. Each takes an object with `call`, or a block; on Ruby 3.4
    # the block's self has to be shareable (write it in a class or module body), on 4.0 its self is nil.
    module Constructors
      # @param callable [#call, nil] nil: the block
      # @param name [Symbol] what Failures and reports call the stage
      # @raise [NotShareableError]
      def select(callable = nil, name: :select, &block)
        Select.new(callable || block, name:)
      end

      # @see #select
      def reject(callable = nil, name: :reject, &block)
        Reject.new(callable || block, name:)
      end

      # @see #select
      def map(callable = nil, name: :map, &block)
        Map.new(callable || block, name:)
      end

      # @param codec [Codec] has `encode(object)`
      # @raise [Guildhall::ArgumentError]
      def encode(codec, name: :encode)
        Encode.new(codec, name:)
      end

      # @see Validate
      def validate(callable = nil, name: :validate, &block)
        Validate.new(callable || block, name:)
      end
    end
  end

  extend Pipeline::Constructors

  autoload :Encryption, File.expand_path("encryption.rb", __dir__)
end
