# frozen_string_literal: true

require_relative "broker/admin_client"
require_relative "broker/session"

module Guildhall
  module Kafka
    # Administration of a cluster: topics, consumer groups and their offsets. {Kafka.admin} gives one.
    #
    #     Guildhall::Kafka.admin { |admin| admin.groups.names }
    #
    # It connects at the first question. Its methods block for the brokers' answers, ten seconds at most for each (30 for what a group has
    # committed, whose coordinator may have to load it), and raise a {KafkaError} that says what to do: {UnreachableError} where no broker
    # answers, {AuthenticationError} where they refuse the credentials, {AuthorizationError} where a right is missing. Belongs to one
    # thread of the main Ractor; close it.
    class Admin
      # @yieldparam admin [Admin] closed when the block ends
      # @return [Object] what the block returns
      def self.open(settings)
        admin = new(settings)
        yield admin
      ensure
        admin&.close
      end

      # @param settings [Hash{Symbol=>Object}] librdkafka's
      def initialize(settings)
        @connections = Connections.new(settings)
      end

      # @return [Groups]
      def groups = @groups ||= Groups.new(@connections, self)

      # @return [Offsets]
      def offsets = @offsets ||= Offsets.new(@connections, self)

      # @return [Topics] to list, describe, create, change and delete them
      def topics = @topics ||= Topics.new(@connections)

      # Asks the brokers.
      # @return [Cluster]
      def cluster = Cluster.of(@connections, topics.list(internal: true))

      # Closes its clients; blocks for some seconds at most. It can be used again, and connects anew.
      # @return [void]
      def close = @connections.close

      def inspect = "#<#{self.class} of #{@connections.servers}>"

      # The clients of librdkafka that the parts of an {Admin} share, each made when it is first needed.
      # @!visibility private
      class Connections
        # @return [Hash{Symbol=>Object}] librdkafka's
        attr_reader :settings

        def self.open(settings)
          connections = new(settings)
          yield connections
        ensure
          connections&.close
        end

        def initialize(settings)
          @settings = settings
          @sessions = {}
        end

        def servers = UnreachableError.servers(@settings)

        # @param group [String, nil] whose committed offsets the session asks for; nil: of none
        # @return [Broker::Session]
        def session(group = nil)
          @sessions[group] ||= Broker::Session.new({**@settings, "group.id": group || "guildhall.admin"},
            coordinator_timeout: Broker::Session::COORDINATOR_SECONDS)
        end

        # (see Broker::AdminClient#request)
        # Where no answer comes, a session says why: no broker answers at all, or they refuse the credentials.
        def request(what, ...)
          client.request(what, ...)
        rescue UnreachableError => error
          session.topic_names
          text = "the brokers answer, but not when they are asked for #{what}: they are overloaded, or do not know this request, as an " \
                 "embedded broker"
          raise KafkaError.new(error.code, error.code_name, text)
        end

        # @return [Broker::AdminClient]
        def client = @client ||= Broker::AdminClient.new(@settings)

        def close
          [*@sessions.values, *@client].each(&:close)
          @sessions = {}
          @client = nil
        end
      end
      private_constant :Connections
    end
  end
end

require_relative "admin/groups"
require_relative "admin/offsets"
require_relative "admin/cluster"
require_relative "admin/topics"
