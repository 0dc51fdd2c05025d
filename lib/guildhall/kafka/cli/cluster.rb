# frozen_string_literal: true

require_relative "cluster_command"

module Guildhall
  module Kafka
    module CLI
      # `guildhall cluster`: the brokers, and how their partitions are.
      class Cluster < ClusterCommand
        HEADINGS = %w[BROKER ADDRESS RACK CONTROLLER].freeze

        def self.summary = "Show the brokers of a cluster, and how many partitions lack replicas or a leader"

        private

        def define_options(options)
          super
          options.separator("\nCONTROLLER: takes administration; with KRaft any broker does.\n#{STATUSES}")
        end

        def perform
          @cluster = admin(&:cluster)
          return print_json(members) if @options[:json]

          @out.puts(TextTable.lines(facts), "")
          print_rows(@cluster.brokers)
        end

        def facts
          cluster = @cluster
          [["cluster", cluster.id], ["topics", cluster.topics], ["partitions", cluster.partitions],
           ["under-replicated", cluster.under_replicated], ["without leader", cluster.without_leader],
           ["group protocols", cluster.group_protocols&.join(", ")], ["librdkafka", Rdkafka::LIBRDKAFKA_VERSION]]
        end

        def cells(broker) = [broker.id, broker, broker.rack, ("yes" if broker.id == @cluster.controller&.id)]

        def members
          {"cluster" => @cluster.id, "controller" => @cluster.controller&.id,
           "brokers" => @cluster.brokers.map { |broker| broker.to_h.transform_keys(&:to_s) },
           **@cluster.to_h.slice(:topics, :partitions, :under_replicated, :without_leader, :group_protocols).transform_keys(&:to_s)}
        end
      end

      # `guildhall profiles`: the clusters that have a name. The file is {ProfileFile}'s.
      class Profiles < Guildhall::CLI::Command
        def self.command_name = "profiles"
        def self.summary = "List the clusters that --profile knows"

        private

        def define_options(options)
          options.on("--json", "a line of JSON for each")
          options.separator("\nThe file is #{ProfileFile.new.path} (#{ProfileFile::FILE} names another one);\n" \
                            "#{ProfileFile::NAME} names the default. Secrets are not printed.")
        end

        def call(_arguments)
          @profiles = ProfileFile.new
          names = @profiles.names
          return names.each { |name| print_json(data(name)) } if @options[:json]
          return @err.puts("guildhall: there is no profile: #{@profiles.path} would have them") if names.empty?

          rows = names.map { |name| [name, @profiles.servers(name), ("yes" if name == @profiles.chosen)] }
          @out.puts(TextTable.lines([%w[PROFILE BROKERS DEFAULT], *rows]))
          @err.puts("from #{@profiles.path}")
        end

        def data(name) = {"profile" => name, "brokers" => @profiles.servers(name), "default" => name == @profiles.chosen}
      end
    end
  end
end
