# frozen_string_literal: true

require_relative "../broker/group_query"

module Guildhall
  module Kafka
    class Admin
      # The consumer groups of a cluster. Methods block for the brokers' answers, and raise what {Admin} says.
      class Groups
        # A broker.
        Node = Data.define(:id, :host, :port) do
          def to_s = "#{host}:#{port} (broker #{id})"
        end

        # One member. instance_id: its `group.instance.id`, nil: it is no static member; partitions: numbers by topic that it is assigned;
        # target: those that it is to get in the rebalance that goes on, nil: with the classic protocol, where that is not known.
        Member = Data.define(:id, :client_id, :host, :instance_id, :partitions, :target) do
          # @return [Integer]
          def partition_count = partitions.sum { |_, numbers| numbers.size }

          # @return [String] such as "shop at 10.0.0.7 (static member shop-1)"
          def to_s = "#{client_id} at #{host}#{" (static member #{instance_id})" if instance_id}"
        end

        # One group. state: :empty, :stable, :preparing_rebalance, :completing_rebalance, :reconciling (one of the consumer protocol that
        # rebalances) or :dead (there is none); protocol: :classic or :consumer (KIP-848), nil: not known; assignor: as the members have
        # agreed upon, nil: none; members: nil where they may not be asked for.
        Group = Data.define(:name, :state, :protocol, :assignor, :coordinator, :members) do # rubocop:disable Lint/DataDefineOverride -- the field's word
          def members? = members&.any? || false
          def exist? = state != :dead
        end

        SLICE = 100 # groups in one question
        STATES = {"PreparingRebalance" => :preparing_rebalance, "CompletingRebalance" => :completing_rebalance, "Stable" => :stable,
                  "Empty" => :empty, "Dead" => :dead}.freeze
        PROTOCOLS = {"Classic" => :classic, "Consumer" => :consumer}.freeze
        private_constant :SLICE, :STATES, :PROTOCOLS

        # @!visibility private
        # @param admin [Admin] whose groups these are
        def initialize(connections, admin)
          @connections = connections
          @admin = admin
        end

        # @return [Array<String>] of all groups that the user may describe
        # @raise [KafkaError] also where one of the brokers does not answer, since it may have groups of its own
        def names = listed.tap { |_, errors| raise errors.first if errors.any? }.first

        # @param names [Array<String>, nil] nil: all groups that the user may describe
        # @return [Broker::Answer] of {Group}s by name: an Array; `problems` says which groups, or brokers, could not be asked, and why
        def list(names = nil)
          names, errors = names ? [names, []] : listed
          found, refused = names.each_slice(SLICE).flat_map { |some| described(some) }.partition { |one| one.is_a?(Group) }
          Broker::Answer.new(found.sort_by(&:name), refused + errors.map do |error|
            Broker::Problem.new(group: nil, topic: nil, partitions: nil, error:)
          end)
        end

        # @return [Group]
        # @raise [UnknownGroupError] where there is no such group
        def [](name)
          found = described([name]).first
          raise found.error if found.is_a?(Broker::Problem)
          raise unknown(name) unless found.exist?

          found
        end

        # Deletes groups with their offsets, in this order. All are looked at first: if one has members, or does not exist, none is deleted.
        # @yieldparam name [String] one that was deleted
        # @return [void]
        # @raise [LiveGroupError] naming the members
        # @raise [UnknownGroupError]
        def delete(*names)
          names.each { |name| empty!(self[name], "be deleted") }
          names.each do |name|
            delete_one(name)
            yield name if block_given?
          end
          nil
        end

        # Commits for a group what another one has committed: offsets, metadata, and what is done behind them. The other group may have
        # members: it is a copy of this moment.
        # @param overwrite [Boolean] whether the group may have committed something already, which is replaced
        # @return [Offsets::Plan] what was done
        # @raise [Guildhall::ArgumentError] where it has, or the other one has committed nothing
        # @raise [LiveGroupError] where the group that is copied to has members
        def copy(from, to, overwrite: false)
          plan = @admin.offsets.copy_plan(from, to)
          unless overwrite || plan.steps.none?(&:from)
            raise Guildhall::ArgumentError, "group #{to} has committed offsets already: overwrite: true replaces them, or take another name"
          end

          plan.apply
        end

        # Copies a group, verifies the copy, then deletes the group. Kafka has no renaming: if that fails between, there are both groups,
        # and the error says so. No member of either may run meanwhile.
        # @return [Offsets::Plan] what was copied
        # @raise [Guildhall::ArgumentError] where there is a group of the new name already that has committed something
        # @raise [LiveGroupError] where one of the two has members
        def rename(from, to)
          empty!(self[from], "be renamed")
          plan = copy(from, to)
          begin
            left = @admin.offsets.copy_plan(from, to).changes
            raise OffsetsError, "#{from} has committed #{left.size} other offsets meanwhile" if left.any?

            delete_one(from)
          rescue Guildhall::Error => error
            raise OffsetsError, "group #{from} was copied to #{to}, but not deleted: there are both now (#{error.message})"
          end
          plan
        end

        # Forgets what a group has committed for a topic: it will begin there as its `auto.offset.reset` says. Members may live that have
        # not subscribed to the topic.
        # @param partitions [Array<Integer>, nil] nil: all
        # @return [void]
        # @raise [LiveGroupError] where members have subscribed to it
        # @raise [UnknownGroupError, UnknownTopicError]
        def delete_offsets(name, topic, partitions: nil)
          self[name]
          numbers = @admin.offsets.of(name, topics: [topic], partitions:, settled: true).select(&:committed).map(&:partition)
          return if numbers.empty?

          list = topic_list(topic => numbers.map { |number| [number] })
          @connections.request("offsets of group #{name} to be deleted") { |client| client.delete_consumer_group_offsets(name, list) }
          nil
        rescue KafkaError => error
          raise unless Broker::Errors.symbol(error) == :group_subscribed_to_topic

          raise LiveGroupError.new(name, self[name].members, "lose its offsets of #{topic}")
        end

        def inspect = "#<#{self.class} of #{@connections.servers}>"

        # @!visibility private
        # @return [Group, nil] nil: these brokers cannot say, such as {Testing::EmbeddedBroker}s
        # @raise [LiveGroupError]
        def empty!(group, what)
          group = described([group]).first if group.is_a?(String)
          if group.is_a?(Broker::Problem)
            return if Broker::Errors.symbol(group.error) == :unsupported_feature

            raise group.error
          end
          raise LiveGroupError.new(group.name, group.members, what) if group.members?

          group
        end

        # @!visibility private
        # @return [UnknownGroupError]
        def unknown(name)
          UnknownGroupError.new(name, listed.first)
        rescue KafkaError # without a suggestion then
          UnknownGroupError.new(name)
        end

        # @!visibility private
        # @param topics [Hash{String=>Array<Array(Integer, Integer, String)>}] partition, offset and metadata
        def topic_list(topics)
          Rdkafka::Consumer::TopicPartitionList.new(topics.transform_values do |some|
            some.map { |number, offset, metadata| Rdkafka::Consumer::Partition.new(number, offset, 0, metadata) }
          end)
        end

        private

        # @return [Array(Array<String>, Array<KafkaError>)] names, and why some brokers have not answered
        def listed
          report = @connections.request("the consumer groups", &:list_consumer_groups)
          errors = report.errors.map { |error| Broker::AdminClient.error(error, "the consumer groups of one broker") }
          raise errors.first if errors.any? && report.groups.empty?

          [report.groups.map { |group| group[:group_id] }.sort, errors]
        end

        # @return [Array<Group, Broker::Problem>] in the order of the names
        def described(names)
          report = @connections.request("consumer groups #{names.first(3).join(", ")}#{" …" if names.size > 3}") do |client|
            client.describe_consumer_groups(names)
          end
          report.groups.map { |group| group[:error] ? problem(group) : group(group) }
        end

        def problem(group)
          error = Broker::AdminClient.error(group[:error], "group #{group[:group_id]}")
          Broker::Problem.new(group: group[:group_id], topic: nil, partitions: nil, error:)
        end

        def group(group)
          protocol = PROTOCOLS[group[:type_name]]
          Group.new(name: group[:group_id], state: STATES[group[:state_name]] || (if protocol == :consumer
                                                                                    :reconciling
                                                                                  end) || :unknown, protocol:,
            assignor: group[:partition_assignor]&.then { |name| name unless name.empty? },
            coordinator: group[:coordinator]&.then { |node| Node.new(**node.slice(:id, :host, :port)) },
            members: group[:members].map { |member| member(member) }.sort_by { |one| [one.client_id, one.host, one.id] }.freeze)
        end

        def member(member)
          target = sorted(member[:target_assignment]) if member[:target_assignment]
          Member.new(id: member[:member_id], client_id: member[:client_id], host: member[:host].to_s.delete_prefix("/"),
            instance_id: member[:group_instance_id], partitions: sorted(member[:assignment]), target:)
        end

        def sorted(assignment) = assignment.sort.to_h { |topic, numbers| [topic, numbers.sort.freeze] }.freeze

        def delete_one(name)
          @connections.request("group #{name} to be deleted") { |client| client.delete_group(name) }
        rescue KafkaError => error
          case Broker::Errors.symbol(error)
          when :non_empty_group then raise LiveGroupError.new(name, self[name].members, "be deleted")
          when :group_id_not_found then raise unknown(name)
          else raise
          end
        end
      end
    end
  end
end
