# frozen_string_literal: true

require "guildhall/error_boundary"
require "guildhall/growing_pauses"

module Guildhall
  module Kafka
    module Broker
      # Finds the topics that patterns match. Ruby matches them, against the names that the brokers know: librdkafka would
      # take a pattern for a POSIX expression, in which `\d`, `(?:…)` and the flags mean something else or nothing. Asks again
      # every `topic.metadata.refresh.interval.ms`, in a thread of its own.
      class TopicDiscovery
        REFRESH_MS = 300_000 # librdkafka's default
        # Milliseconds that the brokers have for their first answer, which the start waits for, and for one after they have not answered.
        ANSWER_MS = 1_000
        LATE_ANSWER_MS = 5_000
        PAUSES = GrowingPauses.new(1, 30) # seconds before another try, where the brokers did not answer
        private_constant :REFRESH_MS, :ANSWER_MS, :LATE_ANSWER_MS, :PAUSES

        # @param settings [Hash{Symbol=>Object}] the client's
        # @param on_error [#call] given what has failed in the thread: it asks again
        # @yieldparam name [String] of a topic
        # @yieldreturn [Boolean] whether it is wanted
        def initialize(client, settings, on_error:, &wanted)
          @client = client
          @on_error = on_error
          refresh = Integer(settings.fetch(:"topic.metadata.refresh.interval.ms", REFRESH_MS), exception: false) || REFRESH_MS
          @interval = refresh.positive? ? refresh / 1000.0 : nil
          @wanted = wanted
          @stop = Thread::Queue.new
          @answer_ms = ANSWER_MS
          @pause = nil
          @found = nil
        end

        # Blocks for the brokers' answer.
        # @return [Array<String>] the wanted topics that there are; empty if no broker answers
        def look
          @found = ask || @found
          @found || []
        end

        # @yieldparam found [Array<String>] the wanted topics, whenever they are others than before
        def start(&on_change)
          @thread = Thread.new do
            while @stop.pop(timeout: @found ? @interval : (@pause = PAUSES.after(@pause))).nil? && !@stop.closed?
              ErrorBoundary.run(->(error) { @on_error.call(error) }) { watch(&on_change) }
            end
          end
          @thread.name = "guildhall topics"
        end

        # Blocks until a question on its way is answered, or given up.
        def stop
          @stop.close
          @thread&.join
        end

        private

        def watch
          before = @found
          @found = ask || @found
          yield @found unless @found == before
        end

        # @return [Array<String>, nil] nil: no broker has answered
        def ask
          names = @client.topic_names(@answer_ms)
          @answer_ms = LATE_ANSWER_MS unless names
          names&.select(&@wanted)&.sort
        end
      end
    end
  end
end
