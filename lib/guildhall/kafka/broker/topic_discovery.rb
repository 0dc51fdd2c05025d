# frozen_string_literal: true

require "guildhall/growing_pauses"

module Guildhall
  module Kafka
    module Broker
      # Finds the topics that patterns match. Ruby matches them, against the names that the brokers know: librdkafka would
      # take a pattern for a POSIX expression, in which `\d`, `(?:…)` and the flags mean something else or nothing.
      # @api private
      class TopicDiscovery
        REFRESH_MS = 300_000 # librdkafka's default
        FIRST_ANSWER_MS = 1_000 # the start waits for it
        ANSWER_MS = 5_000
        PAUSES = GrowingPauses.new(1, 30) # seconds before another try, where the brokers did not answer
        private_constant :REFRESH_MS, :FIRST_ANSWER_MS, :ANSWER_MS, :PAUSES

        # @yieldreturn [Boolean] whether the topic of a name is wanted
        def initialize(client, settings, &wanted)
          @client = client
          refresh = Integer(settings.fetch(:"topic.metadata.refresh.interval.ms", REFRESH_MS), exception: false) || REFRESH_MS
          @interval = refresh.positive? ? refresh / 1000.0 : nil
          @wanted = wanted
          @pause = @found = nil
        end

        # Blocks for the brokers' answer.
        # @return [Array<String>] the wanted topics that there are; empty if no broker answers
        def find(answer_ms = FIRST_ANSWER_MS)
          names = @client.topic_names(answer_ms)
          @found = names.select(&@wanted).sort if names
          @found || []
        end

        # Blocks until `topic.metadata.refresh.interval.ms` have passed, and for the brokers' answer.
        # @return [Array<String>, nil] the wanted topics; nil: they are the same as before
        def find_others
          before = @found
          pause = before ? @interval : (@pause = PAUSES.after(@pause))
          pause ? sleep(pause) : sleep
          find(ANSWER_MS)
          @found unless @found == before
        end
      end
    end
  end
end
