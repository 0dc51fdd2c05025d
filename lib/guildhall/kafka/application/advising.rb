# frozen_string_literal: true

module Guildhall
  module Kafka
    class Application
      # Settings that are allowed, and yet will not do in this process: fewer connections to a database than threads that need one, say.
      module Advising
        # The block is asked at each start, and by `guildhall routes`.
        # @yieldreturn [Array<String>] a line for each: what is wrong, with the numbers, and what to write instead
        # @return [void]
        def advise(&block)
          @advisers = [*@advisers, block]
        end

        # @return [Array<String>] what the blocks of {#advise} answer
        def advice = [*@advisers].flat_map(&:call)

        private

        # All processes of a swarm have the same settings: the first one says it.
        def publish_advice
          advice.each { |message| publish("app.advised", message:) } unless @clients.process_number.to_i > 1
        end
      end
    end
  end
end
