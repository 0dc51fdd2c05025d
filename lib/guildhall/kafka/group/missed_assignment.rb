# frozen_string_literal: true

require_relative "../admin"

module Guildhall
  module Kafka
    module Group
      # Says when a member has to join anew because it has missed what the group's coordinator has assigned to it. With the consumer
      # protocol assignments come with the answers to heartbeats. librdkafka (2.16) waits for an answer as long as for the next heartbeat,
      # five seconds unless brokers say otherwise, and then sends the same heartbeat again; but a coordinator, which may take longer while
      # another broker has failed, sends an assignment again only where a heartbeat says everything anew (KIP-848). Then the member would
      # keep what it is to give up, and nobody would read what it was given. Belongs to the listener's thread.
      class MissedAssignment
        PAUSE_SECONDS = 5 # between two questions: an assignment that is on its way comes meanwhile
        REASON = "the group's coordinator has assigned other partitions than this member knows of; joining anew"
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

        # @param timeouts [Integer] how many requests to the coordinator had no answer in time, so far
        # @return [Boolean] whether it is worth asking {#missed}: there are more than at the last call
        def suspected?(timeouts)
          (timeouts > @timeouts).tap { @timeouts = timeouts }
        end

        # Asks the coordinator, twice where it knows something else. Blocks until it has answered, for as long as that takes.
        # @return [#call, nil] nil: it knows what the member knows, or the member joins anew by itself; else what says whether that is so
        #   still: giving up partitions may take longer than this
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
        rescue UnreachableError, UnknownGroupError
          sleep(@pause)
          retry
        end
      end
    end
  end
end
