# frozen_string_literal: true

module Guildhall
  module Kafka
    class Admin
      # A cluster, as it was when {Admin#cluster} asked.
      #
      # - id: nil: the brokers do not tell.
      # - controller: the {Node} that takes administration; with KRaft any broker does, and passes it on. nil: there is none now.
      # - brokers: those that are up.
      # - topics, partitions: how many this user may see, with Kafka's own.
      # - under_replicated, without_leader: of these partitions, how many have fewer copies in sync than they should, or can be neither read
      #   nor written.
      # - group_protocols: what groups may use: "classic", "consumer" (KIP-848); nil: the brokers do not tell, because they are older than
      #   Kafka 3.7, or this user may not see their settings.
      Cluster = Data.define(:id, :controller, :brokers, :topics, :partitions, :under_replicated, :without_leader, :group_protocols)

      # (see Cluster)
      class Cluster
        # A broker. rack: nil: it has none.
        Node = Data.define(:id, :host, :port, :rack) do
          def to_s = "#{host}:#{port}"
        end

        BROKER = 4 # number of the Kafka protocol
        PROTOCOLS = "group.coordinator.rebalance.protocols"
        private_constant :BROKER, :PROTOCOLS

        # Blocks for the brokers' answers.
        # @param topics [Array<Topics::Topic>] all of them
        def self.of(connections, topics)
          report = connections.request("the cluster", &:describe_cluster)
          brokers = report.nodes.map { |node| node(node) }.sort_by(&:id).freeze
          partitions = topics.flat_map(&:partitions)
          new(id: report.cluster_id.freeze, controller: report.controller && node(report.controller), brokers:, topics: topics.size,
            partitions: partitions.size, under_replicated: partitions.count(&:under_replicated?),
            without_leader: partitions.count { |partition| partition.leader.nil? }, group_protocols: protocols(connections, brokers))
        end

        def self.node(found) = Ractor.make_shareable(Node.new(**found))

        def self.protocols(connections, brokers)
          return if brokers.empty?

          report = connections.request("a broker's settings") do |client|
            client.describe_configs([{resource_type: BROKER, resource_name: brokers.first.id.to_s}])
          end
          setting = report.resources.flat_map(&:configs).find { |config| config.name == PROTOCOLS }
          setting && Ractor.make_shareable(setting.value.to_s.split(","))
        rescue AuthorizationError
          nil
        end
        private_class_method :node, :protocols
      end
    end
  end
end
