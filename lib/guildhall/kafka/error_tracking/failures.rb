# frozen_string_literal: true

require "guildhall/clock"

module Guildhall
  module Kafka
    class ErrorTracking
      # Tells the first error of a failure from those of its retries. The same class at the same message is the same failure; where it is
      # not known which message has failed, at any of the same messages. Any thread.
      # @api private
      class Failures
        AGAIN_SECONDS = 3_600 # a failure that goes on is new after that time
        MOST = 1_000 # that are known
        Known = Struct.new(:place, :offset, :from, :to, :told_at) do
          def same?(offset, first, last)
            return from.nil? && first.nil? unless from && first

            low, high = self.offset ? [self.offset, self.offset] : [from, to]
            offset ? offset.between?(low, high) : first <= high && low <= last
          end
        end
        private_constant :AGAIN_SECONDS, :MOST, :Known

        def initialize(again_seconds: AGAIN_SECONDS)
          @again_seconds = again_seconds
          @known = []
          @lock = Mutex.new
        end

        # @param context [Hash{Symbol=>Object}] type:, group:, topic:, partition:, offset:, first_offset:, last_offset:
        # @param headers [Hash, nil] of a retry topic's message: they say which error it has failed with before
        def first?(error, context, headers = nil)
          return false if headers && headers["source_error_class"] == error.class.name

          place = [error.class.name, *context.values_at(:type, :group, :topic, :partition)]
          offsets = context.values_at(:offset, :first_offset, :last_offset)
          @lock.synchronize { note(place, offsets, Clock.now) }
        end

        private

        def note(place, offsets, now)
          known = @known.find { |one| one.place == place && now - one.told_at < @again_seconds && one.same?(*offsets) }
          if known
            known.offset ||= offsets.first
            return false
          end
          @known.shift if @known.size >= MOST
          @known << Known.new(place, *offsets, now)
          true
        end
      end
    end
  end
end
