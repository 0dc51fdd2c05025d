# frozen_string_literal: true

require_relative "../admin"

module Guildhall
  module Kafka
    module Group
      # Says when a member has to join again because the answer with its assignment was lost. With the consumer protocol the coordinator
      # sends a new assignment with its answer to a heartbeat. librdkafka (2.16) waits for that answer until the next heartbeat is due,
      # five seconds unless brokers say otherwise, and then repeats the heartbeat. The coordinator answers the repeated one without the
      # assignment: only a full heartbeat gets it again (KIP-848). The member would keep partitions that it has to give up, and would not
      # read those that it was given. A coordinator is that slow when another broker has just failed.
      #
      # Where the time between heartbeats is longer than both pauses, an answer may still come after them: then the member joins again
      # without need, which costs a rebalance and no message.
      class MissedAssignment
        PAUSE_SECONDS = 5 # between two questions: an assignment that is on its way comes meanwhile
        REASON = "this member does not have the partitions that the group's coordinator has assigned to it; joining again"
        private_constant :PAUSE_SECONDS

        # @param client [Client] of the member
        # @param settings [Hash{Symbol=>Object}] librdkafka's
        # @yieldreturn [Array<Array(String, Integer)>] topics and partitions that the member has. Any thread
        def initialize(client, settings, pause: PAUSE_SECONDS, admins: Admin, &held)
          @client = client
          @settings = settings
          @pause = pause
          @admins = admins
          @held = held
          @timeouts = 0
        end

        # Does not block; the listener's thread.
        # @param timeouts [Integer] how many requests to the coordinator had no answer in time, so far
        # @return [Boolean] whether it is worth asking {#missed}: there are more than at the last call
        def suspected?(timeouts)
          (timeouts > @timeouts).tap { @timeouts = timeouts }
        end

        # Asks the coordinator, twice where it knows something else. Blocks until it has answered, for as long as that takes: in a thread
        # of its own.
        # @return [#call, nil] nil: it knows what the member knows, or the member joins anew by itself; else what says whether that is so
        #   still: giving up partitions may take longer than this
        # @raise [KafkaError] it refuses to say
        def missed
          held = @held.call.sort
          @admins.open(@settings) do |admin|
            return unless 2.times.all? do
              sleep(@pause)
              other?(assigned(admin), held)
            end
          end
          -> { @held.call.sort == held }
        end

        private

        def other?(assigned, held) = !assigned.nil? && assigned != held && @held.call.sort == held

        # @return [Array<Array(String, Integer)>, nil] nil: the coordinator does not know the member
        def assigned(admin)
          member = admin.groups[@settings.fetch(:"group.id")].members.to_a.find { |one| one.id == @client.member_id }
          member&.partitions&.flat_map { |topic, numbers| numbers.map { |number| [topic, number] } }&.sort
        rescue UnknownGroupError
          nil
        rescue KafkaError => error
          raise unless Broker::Errors.outage?(error)

          sleep(@pause)
          retry
        end
      end
    end
  end
end
