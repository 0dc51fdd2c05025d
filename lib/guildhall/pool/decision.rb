# frozen_string_literal: true

module Guildhall
  class Pool
    # Where a batch is run, and why: `future.decision.to_s` is "inline: small", say.
    #
    # @!attribute [r] place
    #   @return [Symbol] :inline (its reader runs it) or :parallel (workers run it, and its reader where it helps)
    # @!attribute [r] reason
    #   @return [Symbol] inline: :small (handing it over would take longer), :slower (with workers, as measured), :saturated,
    #     :queue_closed (the pool shuts down or rests), :forced (`parallel: false`), :inline_mode (`Pool.inline`,
    #     `GUILDHALL_INLINE`), :no_workers, :breaker_open, or a String: why the task itself can run in the main Ractor only (its
    #     `inline_reason`); parallel: :unknown (nothing is known of its code), :worthwhile, :overdue (begun inline, and took longer
    #     than a hand-over), :forced (`parallel: true`)
    Decision = Data.define(:place, :reason) do
      def parallel?
        place == :parallel
      end

      def to_s
        "#{place}: #{reason.is_a?(Symbol) ? reason.name.tr("_", " ") : reason}"
      end
    end

    # In the order of `ext/guildhall/pool/batch.h`.
    # @api private
    class Decision
      INLINE = %i[small slower saturated queue_closed forced inline_mode no_workers breaker_open main_only].freeze
      ALL = [*INLINE.map { |reason| new(:inline, reason) },
             *%i[unknown worthwhile overdue forced].map { |reason| new(:parallel, reason) }].freeze
      NUMBERS = ALL.each_with_index.to_h { |decision, number| [[decision.place, decision.reason].freeze, number] }.freeze
      private_constant :NUMBERS

      # @api private
      def self.of(batch)
        decision = ALL[batch.decision]
        decision.reason == :main_only ? decision.with(reason: batch.inline_reason) : decision
      end

      # @api private
      def self.number(place, reason)
        NUMBERS.fetch([place, reason])
      end
    end
  end
end
