# frozen_string_literal: true

require_relative "../clock"
require_relative "../growing_pauses"
require_relative "../shared_cache"
require_relative "errors"

module Guildhall
  class SchemaRegistry
    # Since when a registry cannot be asked, and why. Frozen, shareable.
    # @api private
    Outage = Data.define(:since, :latest, :reason, :status, :path, :pause) do
      # @return [Float] seconds
      def seconds = Clock.now - since

      # @param now [Float] of the {Clock}
      # @return [Boolean] whether nobody has asked for so long that nothing is known any more
      def forgotten?(now = Clock.now) = now - latest >= Outages::FORGET_SECONDS
    end

    # Remembers which requests a registry could not answer, and why. Frozen and shareable.
    #
    # There is one outage for each path that had an answer with a status (a 403 for one subject says nothing of the others), and one for
    # the whole registry where there was no answer. Bounded.
    # @api private
    class Outages
      PAUSES = GrowingPauses.new(0.5, 8.0) # between attempts without an answer
      FORGET_SECONDS = 120
      MAX = 100 # what has not been tried for longest is forgotten first
      NO_ANSWER = nil # instead of a path
      # outages: path or NO_ANSWER => Outage; answers: path => when it was last answered; heard: when the last answer of any kind came,
      # also one that says that it cannot; nil: none has.
      State = Data.define(:outages, :answers, :heard)
      private_constant :PAUSES, :NO_ANSWER, :State

      def initialize(clock: Clock)
        @clock = clock
        @cache = SharedCache.new
        @cache.add(:state, State.new({}.freeze, {}.freeze, nil))
        freeze
      end

      # Requests of several threads end in any order: one that was sent before another one of the same path was answered, and fails behind
      # that, says nothing of now.
      # @yield sends one request
      def watch(path)
        sent = @clock.now
        yield.tap { answered(path) }
      rescue Error => error
        error.outage? ? failed(path, error, sent:) : answered(path)
        raise
      end

      # @return [Outage, nil] the one that has lasted longest
      def current
        now = @clock.now
        all.each_value.reject { |outage| outage.forgotten?(now) }.min_by { |outage| [outage.since, -outage.latest] }
      end

      # @param sent [Float, nil] when the request was sent, of the clock; nil: now
      def failed(path, error, sent: nil)
        now = @clock.now
        path = path.dup.freeze
        reason = error.message.dup.freeze
        @cache.update(:state) do |state|
          next state if sent && answered_since?(state, error.status && path, sent)

          outages = state.outages.reject { |_, outage| outage.forgotten?(now) }
          before = outages.values_at(path, NO_ANSWER).compact
          pause = PAUSES.after(before.map(&:pause).max)
          since = before.map(&:since).min || now
          outages.delete(NO_ANSWER) # an error with a status is an answer
          outages[error.status ? path : NO_ANSWER] = Outage.new(since:, latest: now, reason:, status: error.status, path:, pause:)
          outages.delete(outages.min_by { |_, outage| outage.latest }.first) if outages.size > MAX
          state.with(outages: outages.freeze, heard: error.status ? now : state.heard)
        end
      end

      # An answer ends the outage of the same request, and that in which there was no answer.
      def answered(path)
        path = path.dup.freeze
        now = @clock.now
        @cache.update(:state) do |state|
          answers = state.answers.except(path).merge(path => now) # in the order of their times
          answers.shift if answers.size > MAX
          State.new(state.outages.except(path, NO_ANSWER).freeze, answers.freeze, now)
        end
      end

      # @raise [Error] what the last attempt has raised, where it was a moment ago and had no answer
      def check!
        outage = all[NO_ANSWER]
        raise Error, outage.reason if outage && @clock.now - outage.latest < outage.pause
      end

      private

      def all = @cache[:state].outages

      # @param path [String, nil] nil: whatever was asked for
      def answered_since?(state, path, time) = (path ? state.answers[path] : state.heard)&.>=(time)
    end
  end
end
