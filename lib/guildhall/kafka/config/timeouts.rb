# frozen_string_literal: true

module Guildhall
  module Kafka
    class Config
      # Times of ours and of librdkafka's that have to fit each other: nothing would say why the group loses its member.
      module Timeouts
        # What librdkafka takes where nothing is set.
        MAX_POLL_INTERVAL_MS = 300_000
        SESSION_TIMEOUT_MS = 45_000

        # @param settings [Hash{Symbol=>Object}] librdkafka's, of one client
        # @param revocation_timeout [Numeric] seconds
        # @param faults [Faults]
        # @return [void]
        def self.validate(settings, revocation_timeout, faults)
          poll = milliseconds(settings, :"max.poll.interval.ms", MAX_POLL_INTERVAL_MS) or return
          session = milliseconds(settings, :"session.timeout.ms", SESSION_TIMEOUT_MS)
          if revocation_timeout * 1000 >= poll
            faults.add("revocation_timeout (#{revocation_timeout} s) has to be shorter than max.poll.interval.ms (#{poll} ms): " \
                       "nothing is polled while a rebalance waits for work, and who does not poll is put out of the group")
          end
          return unless session && session > poll

          faults.add("session.timeout.ms (#{session}) must not be longer than max.poll.interval.ms (#{poll})")
        end

        # @return [Integer, nil] nil for what is no number: librdkafka complains of that itself
        def self.milliseconds(settings, name, default)
          Integer(settings.fetch(name, default), exception: false)
        end
        private_class_method :milliseconds
      end
    end
  end
end
