# frozen_string_literal: true

module Guildhall
  class SchemaRegistry
    # Pauses between attempts, each twice as long as the one before, up to a limit. Frozen and shareable: the caller keeps the last one.
    # @!attribute first [Float] seconds
    # @!attribute longest [Float] seconds
    # @api private
    Pauses = Data.define(:first, :longest) do
      # @param pause [Float, nil] the last one, in seconds; nil: there was none
      # @return [Float] the next one
      def after(pause) = pause ? [pause * 2, longest].min : first
    end
  end
end
