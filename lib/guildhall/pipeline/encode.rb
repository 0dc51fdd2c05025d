# frozen_string_literal: true

module Guildhall
  class Pipeline
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
  end
end
