# frozen_string_literal: true

require "guildhall/clock"

module Guildhall
  module Kafka
    module Filtering
      # At most `limit` messages of a partition pass in any period of `per` seconds; the others wait.
      class Throttle
        # Messages that were let through together.
        Run = Data.define(:time, :offsets, :size)
        private_constant :Run

        # @param limit [Integer] messages
        # @param per [Numeric] seconds
        def initialize(limit:, per:)
          @limit = limit
          @per = per
          @runs = []
          @count = 0
        end

        def call(messages)
          now = Clock.now
          forget(now)
          # What a later filter has made wait comes again, and is not counted twice.
          unpaid = messages.drop_while { |message| @runs.last&.offsets&.cover?(message.offset) }
          room = @limit - @count
          pay(unpaid.first(room), now)
          messages.postpone(unpaid[room], [@runs.first.time + @per - now, 0.001].max) if unpaid.size > room
        end

        private

        def forget(now)
          @count -= @runs.shift.size while @runs.any? && @runs.first.time + @per <= now
        end

        def pay(messages, now)
          return if messages.empty?

          @runs << Run.new(time: now, offsets: messages.first.offset..messages.last.offset, size: messages.size)
          @count += messages.size
        end
      end
    end
  end
end
