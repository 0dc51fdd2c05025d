# frozen_string_literal: true

require "guildhall/error_boundary"

module Guildhall
  module Kafka
    class Application
      # Settings that are allowed, and yet will not do in this process: fewer connections to a database than threads that need one, say.
      module Advising
        # The block is asked at each start, and by `guildhall routes`. What it raises at a start is published as `error.occurred`.
        # @yieldreturn [Array<String>] a line for each: what is wrong, with the numbers, and what to write instead
        def advise(&block)
          @advisers = [*@advisers, block]
        end

        # @return [Array<String>] what the blocks of {#advise} answer
        def advice = [*@advisers].flat_map(&:call)

        private

        # @param about [Symbol] :settings, :deserializing or :topics
        def publish_advice(about, message, group: nil, topic: nil)
          publish("app.advised", message:, about:, group:, topic:)
        end

        def ask_advisers
          return unless first_process?

          [*@advisers].each do |adviser|
            messages = ErrorBoundary.run(->(raised) { error(raised, "advise") }) { adviser.call }
            [*messages].each { |message| publish_advice(:settings, message) }
          end
        end

        # @return [Boolean] whether it is this process that says what is true of all processes of a swarm, which have the same settings and
        #   routes
        def first_process? = @clients.process_number.to_i <= 1
      end
    end
  end
end
