# frozen_string_literal: true

module Guildhall # rubocop:disable Style/Documentation
  class Pipeline
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

  autoload :Encryption, File.expand_path("../encryption.rb", __dir__)
end
