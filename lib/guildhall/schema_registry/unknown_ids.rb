# frozen_string_literal: true

require_relative "../clock"
require_relative "../shared_cache"

module Guildhall
  class SchemaRegistry
    # The ids that a registry has not known when it was asked. At first such an id is asked for again, for a schema may just have been
    # registered elsewhere; if the registry still does not know it after a while, the id counts as unknown, and is not asked for
    # until that has been forgotten. Bounded, frozen and shareable: the main Ractor asks, workers can see what was answered.
    # @api private
    class UnknownIDs
      MAX = 1_000
      PAUSES = 1.0..8.0 # seconds between two requests, doubled from one to the next
      CLAIM_SECONDS = 30.0 # whoever asks has so long, until another may
      STALE_SECONDS = 3_600 # what nobody has asked for so long is new again
      # since: when the registry did not know it first; ask_at: when it may be asked again; pause: after the next answer; unknown_until: nil
      # while it may still turn up.
      State = Data.define(:since, :ask_at, :pause, :unknown_until)
      private_constant :State

      # @param after [Numeric] seconds after which an id counts as unknown
      # @param keep [Numeric] seconds for which it then is not asked for
      # @param clock [#now]
      def initialize(after, keep, clock: Clock)
        @after = after
        @keep = keep
        @clock = clock
        @states = SharedCache.new
        freeze
      end

      # @param id [Integer, String]
      # @return [Boolean] whether the caller is to ask the registry for it now; no other thread does then
      def ask?(id)
        state = @states[id] or return true
        return @clock.now >= state.unknown_until if state.unknown_until

        claimed = false
        @states.update(id) do |current|
          claimed = current.nil? || current.ask_at <= @clock.now
          claimed ? (current || state).with(ask_at: @clock.now + CLAIM_SECONDS) : current
        end
        claimed
      end

      # The registry was asked, and could not answer.
      # @param id [Integer, String]
      # @return [void]
      def failed(id)
        @states.update(id) { |state| state&.with(ask_at: @clock.now) } if @states[id]
      end

      # The registry was asked, and does not know it.
      # @param id [Integer, String]
      # @return [void]
      def missing(id)
        crowded = @states[id].nil? && make_room
        @states.update(id) do |state|
          now = @clock.now
          state = nil if state && (state.unknown_until || now - state.ask_at > STALE_SECONDS)
          since = state&.since || now
          next State.new(since:, ask_at: now, pause: 0.0, unknown_until: now + @keep) if crowded || now - since >= @after

          pause = state ? [state.pause * 2, PAUSES.end].min : PAUSES.begin
          State.new(since:, ask_at: [now + pause, since + @after].min, pause:, unknown_until: nil)
        end
      end

      # @param id [Integer, String]
      # @return [void]
      def found(id)
        @states.delete(id) if @states[id]
      end

      # @param id [Integer, String]
      # @return [Boolean]
      def unknown?(id)
        limit = @states[id]&.unknown_until
        !limit.nil? && @clock.now < limit
      end

      # @param id [Integer, String]
      # @return [Boolean] whether the registry was asked for it, and did not know it
      def missing?(id) = !@states[id].nil?

      # @return [Integer]
      def size = @states.size

      private

      # An id for which the registry is still asked is kept, if any other can go.
      # @return [Boolean] whether none could: so many ids are garbage, and what comes now is not waited for
      def make_room
        return false if @states.size < MAX

        keys = @states.keys
        decided = keys.find { |id| @states[id].nil? || @states[id].unknown_until }
        @states.delete(decided || keys.first)
        decided.nil?
      end
    end
  end
end
