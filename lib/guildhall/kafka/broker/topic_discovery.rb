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
        # For the first answer, which the start waits for; and for further ones, after brokers have not answered.
        ANSWER_MS = 1_000
        LATE_ANSWER_MS = 5_000
        PAUSES = GrowingPauses.new(1, 30) # seconds before another try, where the brokers did not answer
        STOP_SECONDS = 1 # for a question on its way
        private_constant :REFRESH_MS, :ANSWER_MS, :LATE_ANSWER_MS, :PAUSES, :STOP_SECONDS

        # @param on_error [#call] given what has failed in the thread: it asks again
        # @yieldreturn [Boolean] whether the topic of a name is wanted
        def initialize(client, settings, on_error:, &wanted)
          @client = client
          @on_error = on_error
          refresh = Integer(settings.fetch(:"topic.metadata.refresh.interval.ms", REFRESH_MS), exception: false) || REFRESH_MS
          @interval = refresh.positive? ? refresh / 1000.0 : nil
          @wanted = wanted
          @answer_ms = ANSWER_MS
          @pause = @found = nil
        end

        # Blocks for the brokers' answer.
        # @return [Array<String>] the wanted topics that there are; empty if no broker answers
        def find
          names = @client.topic_names(@answer_ms)
          @answer_ms = LATE_ANSWER_MS unless names
          @found = names.select(&@wanted).sort if names
          @found || []
        end

        # Whether the thread is the one that asks.
        def include?(thread) = thread.equal?(@thread)

        # @yieldparam found [Array<String>] the wanted topics, whenever they are others than before
        def start
          @thread = Thread.new do
            loop do
              pause = @found ? @interval : (@pause = PAUSES.after(@pause))
              pause ? sleep(pause) : sleep
              ErrorBoundary.run(->(error) { @on_error.call(error) }) do
                before = @found
                find
                yield @found unless @found == before
              end
            end
          end
          @thread.name = "guildhall topics"
        end

        # Ends the questions, without waiting long for an answer.
        def stop = @thread&.kill&.join(STOP_SECONDS)
      end
    end
  end
end
