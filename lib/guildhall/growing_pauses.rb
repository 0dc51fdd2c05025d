# frozen_string_literal: true

module Guildhall
  # Pauses between attempts, each twice as long as the one before, up to a limit. Frozen and shareable: the caller keeps the last one.
  # @api private
  GrowingPauses = Data.define(:first, :longest) do
    # @param pause [Numeric, nil] the last one; nil: there was none
    # @return [Numeric] the next one
    def after(pause) = pause ? [pause * 2, longest].min : first
  end
end
