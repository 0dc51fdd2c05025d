# frozen_string_literal: true

require_relative "../clock"
require_relative "../shared_cache"
require_relative "errors"

module Guildhall
  class SchemaRegistry
    # Since when a registry cannot be asked, and why. Frozen, shareable.
    # @!attribute since [Float] of the {Clock}
    # @!attribute latest [Float] of the {Clock}: when it was last tried
    # @!attribute reason [String] with what to do about it
    # @!attribute status [Integer, nil] HTTP's; nil: there was no answer
    # @!attribute path [String] what was asked for
    # @!attribute pause [Float] seconds until it is asked again, where there was no answer
    Outage = Data.define(:since, :latest, :reason, :status, :path, :pause) do
      # @return [Float] seconds
      def seconds = Clock.now - since

      # @param now [Float] of the {Clock}
      # @return [Boolean] whether nobody has asked for so long that nothing is known any more
      def forgotten?(now = Clock.now) = now - latest >= Outages::FORGET_SECONDS
    end

    # Keeps in mind whether a registry can be asked. Frozen and shareable.
    # @api private
    class Outages
      PAUSES = 0.5..8.0 # seconds, doubled from one attempt to the next
      FORGET_SECONDS = 120
      private_constant :PAUSES

      # @param clock [#now]
      def initialize(clock: Clock)
        @clock = clock
        @cache = SharedCache.new
        freeze
      end

      # @return [Outage, nil]
      def current
        outage = @cache[:now]
        outage unless outage&.forgotten?(@clock.now)
      end

      # @param path [String]
      # @param error [Error]
      # @return [void]
      def failed(path, error)
        before = current
        now = @clock.now
        pause = before ? [before.pause * 2, PAUSES.end].min : PAUSES.begin
        @cache.replace(:now, Outage.new(since: before&.since || now, latest: now, reason: error.message.dup.freeze, status: error.status,
          path: path.dup.freeze, pause:))
      end

      # An answer ends an outage of the same request, and any in which there was no answer.
      # @param path [String]
      # @return [void]
      def answered(path)
        outage = @cache[:now]
        @cache.delete(:now) if outage && (outage.status.nil? || outage.path == path)
      end

      # @return [void]
      # @raise [Error] what the last attempt has raised, where it was a moment ago and had no answer
      def check!
        outage = current
        raise Error, outage.reason if outage && outage.status.nil? && @clock.now - outage.latest < outage.pause
      end
    end
  end
end
