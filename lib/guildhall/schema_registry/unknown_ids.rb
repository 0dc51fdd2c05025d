# frozen_string_literal: true

require_relative "../clock"
require_relative "../growing_pauses"
require_relative "../shared_cache"

module Guildhall
  class SchemaRegistry
    # The ids that a registry has not known when it was asked. At first such an id is asked for again, for a schema may just have been
    # registered elsewhere; if the registry still does not know it after a while, the id counts as unknown, and is asked for only once in a
    # longer while. It stays unknown until the registry knows it, or nobody has asked for long. Bounded, frozen and shareable: the main
    # Ractor asks, workers can see what was answered.
    #
    # Once the registry has not known an id, one thread at a time asks for it again. Of an id that nobody has asked for nothing is known, so
    # threads that want it at the same moment each ask: most ids are known, and none of these threads is to fail.
    # @api private
    class UnknownIDs
      MAX = 1_000
      PAUSES = GrowingPauses.new(1.0, 8.0) # between two requests
      CLAIM_SECONDS = 30.0 # for this long only the thread that asks may ask
      STALE_SECONDS = 3_600 # what nobody has asked for so long is new again
      # since: when the registry did not know it first; ask_at: when it may be asked again; asking: whether a thread asks now; pause: after
      # the next answer; unknown: whether it was asked for long enough.
      State = Data.define(:since, :ask_at, :asking, :pause, :unknown)
      private_constant :State

      # @param after [Numeric] seconds after which an id counts as unknown
      # @param keep [Numeric] seconds between two requests for it then
      def initialize(after, keep, clock: Clock)
        @after = after
        @keep = keep
        @clock = clock
        @states = SharedCache.new
        freeze
      end

      # @return [Boolean] whether the caller is to ask the registry for it now; if the registry did not know it, no other thread does then
      def ask?(id)
        state = state(id) or return true
        now = @clock.now
        return false if now < state.ask_at

        claimed = false
        @states.update(id) do |current|
          claimed = current.nil? || current.ask_at <= now
          claimed ? (current || state).with(ask_at: now + CLAIM_SECONDS, asking: true) : current
        end
        claimed
      end

      # The registry was asked, and could not answer.
      def failed(id)
        @states.update(id) { |state| state&.with(ask_at: @clock.now, asking: false) } if @states[id]
      end

      # The registry was asked, and does not know it.
      def missing(id)
        crowded = @states[id].nil? && make_room
        @states.update(id) do |state|
          now = @clock.now
          state = nil if state && stale?(state, now)
          next state if state && !state.asking && now < state.ask_at # another thread has asked at the same moment

          since = state&.since || now
          if crowded || state&.unknown || now - since >= @after
            next State.new(since:, ask_at: now + @keep, asking: false, pause: 0.0, unknown: true)
          end

          pause = PAUSES.after(state&.pause)
          State.new(since:, ask_at: [now + pause, since + @after].min, asking: false, pause:, unknown: false)
        end
      end

      def found(id)
        @states.delete(id) if @states[id]
      end

      # @return [Boolean] whether the registry did not know it for long enough
      def unknown?(id) = state(id)&.unknown || false

      # @return [Boolean] whether the registry was asked for it, and did not know it
      def missing?(id) = !state(id).nil?

      def size = @states.size

      private

      # @return [State, nil] nil: it has not been asked for lately
      def state(id)
        state = @states[id]
        state unless state && stale?(state, @clock.now)
      end

      def stale?(state, now) = now - state.ask_at > STALE_SECONDS

      # An id for which the registry is still asked is kept, if any other can go.
      # @return [Boolean] whether none could: so many ids are garbage, and what comes now is not waited for
      def make_room
        return false if @states.size < MAX

        keys = @states.keys
        decided = keys.find { |id| @states[id].nil? || @states[id].unknown }
        @states.delete(decided || keys.first)
        decided.nil?
      end
    end
  end
end
