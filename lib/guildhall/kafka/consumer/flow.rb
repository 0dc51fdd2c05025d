# frozen_string_literal: true

require_relative "../settings/rules"

module Guildhall
  module Kafka
    class Consumer
      # How a consumer holds its partition up, and moves it. Takes what Karafka's methods take wherever the meaning is the same,
      # and refuses the rest: its durations are milliseconds, these are seconds.
      module Flow
        # Karafka's names for places that are Strings or Symbols there.
        PLACES = {"earliest" => :earliest, "latest" => :latest}.freeze
        private_constant :PLACES

        # No more messages of this partition, once `consume` has returned; other partitions go on.
        # @param offset [Integer, Symbol, Time, nil] where to go on, as in {#seek}; nil or :consecutive: with the message after
        #   this batch
        # @param seconds [Numeric, nil] nil: until {#resume}
        # @param manual [true] Karafka's third argument
        # @raise [Guildhall::ArgumentError] also where the seconds look like milliseconds
        def pause(offset = nil, seconds = nil, manual = true) # rubocop:disable Style/OptionalBooleanParameter -- as in Karafka
          refuse("pause", "manual_pause: #{manual.inspect}") unless manual == true
          problem = seconds && Settings::Rules::DURATION_OR_ZERO.problem(seconds)
          raise Guildhall::ArgumentError, "pause #{problem}" if problem

          seek(offset) unless offset.nil? || offset == :consecutive
          @call.pause(seconds)
        end

        # Ends a pause. May be called by any thread.
        def resume
          @call.resume
        end

        def paused?
          @call.paused?
        end

        # Where to go on once `consume` has returned, instead of after this batch; the committed offset goes back with it. Does
        # not block. If the broker cannot resolve the target offset, the seek is retried and an `error.occurred` event (type
        # `seek`) is published each time.
        # @param target [Integer, Symbol, String, Time] an offset, :earliest, :latest, or the first message at or after a time
        # @param manual [true] Karafka's second argument
        # @param reset_offset [true] Karafka's keyword: what is marked from now on may lie before what was marked until now
        # @raise [Guildhall::ArgumentError]
        def seek(target, manual = true, reset_offset: true) # rubocop:disable Style/OptionalBooleanParameter -- as in Karafka
          refuse("seek", "manual_seek: #{manual.inspect}") unless manual == true
          refuse("seek", "reset_offset: #{reset_offset.inspect}") unless reset_offset == true
          @call.seek(PLACES.fetch(target, target))
        end

        private

        def refuse(method, argument)
          raise Guildhall::ArgumentError, "#{method} does not take #{argument}: only true, which is the default"
        end
      end
    end
  end
end
