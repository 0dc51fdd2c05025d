# frozen_string_literal: true

require "guildhall/clock"

module Guildhall
  module Kafka
    module Group
      # Says when a client that has lost its partitions has to be replaced, since it cannot rejoin the group itself. Two such
      # cases are known of librdkafka (2.16). It takes no new assignment until the last commit is answered, and has been seen
      # to wait for that for ever. And where the brokers' metadata named none of them (the only broker stood still for longer
      # than its own session), it forgets all brokers and may not return to `bootstrap.servers`.
      class LostMembership
        SESSION_TIMEOUT_MS = 45_000 # by default, of librdkafka; and of brokers, who decide it with the consumer protocol
        GRACE_SECONDS = 5 # beyond the session time-out
        ANSWER_MS = 2_000 # that the brokers have to answer
        COMMIT_STUCK = "commit still pending after all partitions were lost; rejoining the group"
        NO_BROKER = "no broker answers since all partitions were lost; connecting and rejoining the group"
        private_constant :SESSION_TIMEOUT_MS, :GRACE_SECONDS, :ANSWER_MS

        def initialize(client, settings, clock: Clock)
          @client = client
          @clock = clock
          @limit = (settings.fetch(:"session.timeout.ms", SESSION_TIMEOUT_MS).to_i / 1000.0) + GRACE_SECONDS
          @since = nil
        end

        # The group has taken the partitions away; has assigned some, if only none.
        def lost = @since = @clock.now
        def assigned = @since = nil

        # Whether it is worth asking {#reason}. Does not block. Any thread.
        def suspected? = @client.commit_overdue?(@limit) || lost_for_long?

        # Why the client has to be replaced; nil: it need not be. Blocks for a broker's answer, for some seconds at most.
        def reason
          return COMMIT_STUCK if @client.commit_overdue?(@limit)
          return unless lost_for_long?
          return NO_BROKER unless @client.topic_names(ANSWER_MS)

          lost # the group is still waiting for other members: to be asked again in a while
          nil
        end

        private

        def lost_for_long?
          since = @since
          !since.nil? && @clock.now - since > @limit
        end
      end
    end
  end
end
