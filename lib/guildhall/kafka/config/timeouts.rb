# frozen_string_literal: true

module Guildhall
  module Kafka
    class Config
      # Times of ours and of librdkafka's that have to fit each other: nothing would say why the group loses its member.
      module Timeouts
        # What librdkafka takes where nothing is set.
        MAX_POLL_INTERVAL_MS = 300_000

        # @param settings [Hash{Symbol=>Object}] librdkafka's, of one client
        # @param revocation_timeout [Numeric] seconds
        def self.validate(settings, revocation_timeout, errors)
          poll = milliseconds(settings, :"max.poll.interval.ms", MAX_POLL_INTERVAL_MS) or return
          return if revocation_timeout * 1000 < poll

          errors.add("revocation_timeout (#{revocation_timeout} s) has to be shorter than max.poll.interval.ms (#{poll} ms): nothing is " \
                     "polled while a rebalance waits for work, and a member that does not poll is removed from the group")
        end

        # @return [Integer, nil] nil if it is not a number: librdkafka reports that itself
        def self.milliseconds(settings, name, default)
          Integer(settings.fetch(name, default), exception: false)
        end
        private_class_method :milliseconds
      end
    end
  end
end
