# frozen_string_literal: true

module Guildhall
  module Kafka
    # Questions to the cluster, and administration, without being a member of a group.
    module Broker
      # The one list of librdkafka's error codes: what each means here, and what to do about it. Every method takes a code as the
      # gem's Symbol (`:topic_authorization_failed`), as librdkafka's name (`"TOPIC_AUTHORIZATION_FAILED"`), as its number, or an
      # error that has one of them as its `code`.
      # @api private
      module Errors
        # kind => codes
        CODES = {
          # No broker has answered in time.
          unanswered: %i[transport timed_out timed_out_queue request_timed_out network_exception all_brokers_down resolve wait_cache
                         retry throttling_quota_exceeded],
          # The group or the transactional id has no coordinator for a moment, or the coordinator is still loading.
          coordinator: %i[wait_coord not_coordinator coordinator_not_available coordinator_load_in_progress],
          # The partition has no leader, another leader, or too few replicas in sync.
          leader: %i[leader_not_available not_leader_for_partition replica_not_available broker_not_available not_enough_replicas
                     not_enough_replicas_after_append isr_insuff fenced_leader_epoch unknown_leader_epoch offset_not_available
                     kafka_storage_error not_controller],
          # The producer's queue is full, or a message was not delivered in time.
          undelivered: %i[queue_full msg_timed_out],
          # Dropped before it was delivered: its producer was closed, or its transaction aborted.
          purged: %i[purge_queue purge_inflight],
          # There is nothing to commit.
          nothing: %i[no_offset noop],
          # The member's generation has ended: the group has moved on.
          member: %i[illegal_generation unknown_member_id rebalance_in_progress assignment_lost fenced_member_epoch stale_member_epoch],
          # Another member or producer has taken over, or the producer's state does not allow it: a new one can do it.
          replaced: %i[fenced_instance_id unreleased_instance_id fenced producer_fenced invalid_producer_epoch
                       invalid_producer_id_mapping unknown_producer_id out_of_order_sequence_number invalid_txn_state
                       concurrent_transactions transaction_coordinator_fenced unstable_offset_commit state conflict destroy],
          # There is no such topic, partition or group.
          missing: %i[unknown_topic_or_part unknown_topic unknown_partition unknown_topic_id unknown_group group_id_not_found
                      resource_not_found],
          # The user may not do this.
          right: %i[topic_authorization_failed group_authorization_failed transactional_id_authorization_failed
                    cluster_authorization_failed delegation_token_authorization_failed],
          # The brokers do not accept who this is, or TLS fails.
          credentials: %i[authentication sasl_authentication_failed unsupported_sasl_mechanism illegal_sasl_state ssl
                          security_disabled delegation_token_expired delegation_token_not_found]
        }.freeze
        KINDS = CODES.flat_map { |kind, codes| codes.map { |code| [code, kind] } }.to_h.freeze
        # Says nothing about a message or a request: the same one can succeed later.
        OUTAGES = %i[unanswered coordinator leader undelivered purged].freeze
        # Answers to a commit after which nothing is left to do.
        COMMIT_SETTLED = [*CODES[:nothing], *CODES[:member], :unknown_topic_or_part].freeze

        # what to do => codes
        ADVICE = {
          "check that a broker listens at bootstrap.servers, and the network between" =>
            %i[transport timed_out timed_out_queue request_timed_out network_exception all_brokers_down],
          "the coordinator is not available: check the brokers that hold the internal topics __consumer_offsets and __transaction_state" =>
            %i[wait_coord not_coordinator coordinator_not_available coordinator_load_in_progress],
          "bring back the brokers that hold the partition's replicas (kafka-topics.sh --describe --unavailable-partitions lists " \
          "partitions without a leader)" => %i[leader_not_available not_leader_for_partition replica_not_available broker_not_available],
          "bring back the brokers that hold the partition's replicas: fewer are in sync than the topic's min.insync.replicas" =>
            %i[not_enough_replicas not_enough_replicas_after_append isr_insuff],
          "create the topic, or correct its name in the routes" => %i[unknown_topic_or_part unknown_topic],
          "the topic was deleted, or recreated" => :unknown_topic_id,
          "the topic has fewer partitions: correct the number" => :unknown_partition,
          "the resource does not exist: correct its name" => :resource_not_found,
          "stop the group's members first (guildhall groups members GROUP names them)" => %i[non_empty_group group_subscribed_to_topic],
          "no such consumer group: correct the group's name" => %i[unknown_group group_id_not_found],
          "grant the user the right on the topic (kafka-acls.sh): READ to consume it, WRITE to produce to it, CREATE to create it, " \
          "DESCRIBE to ask for it" => :topic_authorization_failed,
          "grant the user READ on the consumer group (kafka-acls.sh); GROUP_ID.replay is a group, too" => :group_authorization_failed,
          "grant the user WRITE and DESCRIBE on the transactional id (kafka-acls.sh): of a transactional topic they begin with " \
          "\"GROUP/TOPIC/\"" => :transactional_id_authorization_failed,
          "grant the user CREATE on the cluster, or on the topics that are to be created (kafka-acls.sh); brokers before 2.8 need " \
          "IDEMPOTENT_WRITE on the cluster as well" => :cluster_authorization_failed,
          "grant the user DESCRIBE on the delegation token (kafka-acls.sh)" => :delegation_token_authorization_failed,
          "check sasl.mechanism, and sasl.username with sasl.password (or the token); a server that runs knows a changed password only " \
          "after a restart" =>
            %i[authentication sasl_authentication_failed illegal_sasl_state],
          "set sasl.mechanism to one that the brokers offer (sasl.enabled.mechanisms)" => :unsupported_sasl_mechanism,
          "the brokers have no authorizer or tokens: remove the setting that needs them" => :security_disabled,
          "renew the delegation token" => %i[delegation_token_expired delegation_token_not_found],
          "check security.protocol, ssl.ca.location and the other ssl.* settings, and the broker's certificate: its host name, its date, " \
          "who signed it (guildhall check says which)" => :ssl,
          "a broker cannot write to its disk: check its log.dirs" => :kafka_storage_error,
          "check the host names in bootstrap.servers and in the brokers' advertised.listeners, and DNS" => :resolve,
          "the brokers did not take the message within message.timeout.ms: check that they can be reached" => :msg_timed_out,
          "its producer was closed, or its transaction aborted, before a broker had it: it is to be sent again" =>
            %i[purge_queue purge_inflight],
          "the brokers take messages more slowly than they are produced: produce less, or raise queue.buffering.max.messages" =>
            :queue_full,
          "raise the user's quota, or ask less often" => :throttling_quota_exceeded,
          "another process has joined the group under the same group.instance.id: give each its own" => :fenced_instance_id,
          "another member has the same group.instance.id: give each its own; one that was killed has it until the brokers' " \
          "group.consumer.session.timeout.ms has passed" => :unreleased_instance_id,
          "a transaction with offsets of this group is open: it ends by transaction.timeout.ms at the latest" => :unstable_offset_commit,
          "the transaction before is still being finished" => :concurrent_transactions,
          "raise max.message.bytes of the topic, or send smaller messages" => :msg_size_too_large,
          "raise max.message.bytes of the topic, or lower batch.size" => :record_list_too_large,
          "correct the topic's name: at most 249 letters, digits, dots, underscores and hyphens" => :topic_exception,
          "the topic is there already, or another process has created it" => :topic_already_exists,
          "the cluster has fewer brokers than the replicas that are asked for, or default.replication.factor says" =>
            :invalid_replication_factor,
          "correct the number of partitions" => :invalid_partitions,
          "the brokers' create.topic.policy.class.name refuses this topic: create it by hand" => :policy_violation,
          "set session.timeout.ms between the brokers' group.min.session.timeout.ms and group.max.session.timeout.ms" =>
            :invalid_session_timeout,
          "the timestamp is too far from the broker's time: correct it (milliseconds, not seconds), or raise the topic's " \
          "message.timestamp.before.max.ms or message.timestamp.after.max.ms" => :invalid_timestamp,
          "a client of librdkafka's has ended, and is replaced: send again what was not sent" => :fatal,
          "the group has members with another partition.assignment.strategy or protocol: give all the same, or stop those first" =>
            :inconsistent_group_protocol,
          "the group has as many members as the brokers' group.max.size allows" => :group_max_size_reached,
          "correct the name of the consumer group" => :invalid_group_id,
          "the brokers are too old for this request" => :unsupported_version,
          "this librdkafka or the brokers cannot do this" => :unsupported_feature,
          "set compression.type to one that the brokers know" => :unsupported_compression_type
        }.flat_map { |advice, codes| [*codes].map { |code| [code, advice] } }.to_h.freeze
        # A broker that refuses a token.
        TOKEN_REFUSED = /OAUTHBEARER|invalid_token/
        TOKEN_ADVICE = "check the token that config.oauth_token brings: who issued it, for which audience, until when, and whether the " \
                       "brokers know its principal"
        # A listener that asks for no login.
        WITHOUT_LOGIN = /supported mechanisms: ?(?:;|\z)/
        WITHOUT_LOGIN_ADVICE = "check security.protocol: this listener asks for no login (ssl, plaintext), or name another port"
        # What was tried with a topic, or another resource, of a known name => code => what to do.
        ADVICE_TO = {
          produce: {
            msg_size_too_large: "raise max.message.bytes of topic %s", unknown_topic_or_part: "create topic %s",
            record_list_too_large: "raise max.message.bytes of topic %s", unknown_topic: "create topic %s",
            topic_authorization_failed: "grant WRITE and DESCRIBE on topic %s",
            cluster_authorization_failed: "grant IDEMPOTENT_WRITE on the cluster"
          },
          consume: {topic_authorization_failed: "grant READ on topic %s"},
          join: {
            group_authorization_failed: "grant READ on group %s",
            topic_authorization_failed: "grant READ on each topic of group %s: with the consumer protocol brokers refuse the whole group " \
                                        "while one of its topics may not be described (guildhall check says which)",
            # Of the consumer protocol alone.
            **{
              "Kafka offers it from 4.0 on, where the brokers' group.coordinator.rebalance.protocols has \"consumer\" and the cluster's " \
              "feature group.version is 1; without it set config.group_protocol to :classic" => %i[unsupported_version unsupported_feature],
              "the group has members with the classic protocol that none of the consumer protocol can work with: those with the " \
              "strategy cooperative-sticky, and any where the brokers' group.consumer.migration.policy is not bidirectional: stop all " \
              "members, then start these" => %i[group_id_not_found],
              "set group.remote.assignor to one of the brokers' group.consumer.assignors" => %i[unsupported_assignor]
            }.flat_map { |advice, codes| codes.map { |code| [code, advice] } }.to_h
          },
          create: {topic_authorization_failed: "grant CREATE on topic %s, or on the cluster",
                   cluster_authorization_failed: "grant CREATE on topic %s, or on the cluster"},
          # By who is no member of the group.
          commit: {unknown_member_id: "group %s has members: end them, for it keeps the marks of dead letters alone"},
          transact: {transactional_id_authorization_failed: "grant WRITE and DESCRIBE on transactional id %s"},
          trim: {policy_violation: "cleanup.policy of topic %s has no \"delete\": set compact,delete, or send a tombstone for each key"}
        }.freeze
        private_constant :KINDS, :COMMIT_SETTLED, :OUTAGES, :ADVICE_TO

        class << self
          # @return [Symbol, nil] a key of {CODES}; nil: any other
          def kind(code) = KINDS[symbol(code)]

          # @return [Boolean] whether it says nothing about the message or the request: the cluster cannot do it now
          def outage?(code) = OUTAGES.include?(kind(code))
          def unanswered?(code) = kind(code) == :unanswered

          # @return [Boolean] whether a coordinator has to change or to load: asked again, it answers in a moment. librdkafka has
          #   waited already where there is none (`_WAIT_COORD`)
          def coordinator_changes?(code) = kind(code) == :coordinator && symbol(code) != :wait_coord

          # A message was dropped for what became of others, or of its producer.
          def purged?(code) = kind(code) == :purged

          # There was nothing to commit, and so nobody to answer.
          def nothing?(code) = kind(code) == :nothing

          # @return [Boolean] whether nothing is left to do after this answer to a commit
          def commit_settled?(code) = COMMIT_SETTLED.include?(symbol(code))

          # @return [Boolean] whether a new member or a new producer can do it
          def replaced?(code) = %i[member replaced].include?(kind(code))

          # @return [Boolean] whether a topic is missing, or may not be used, or nothing may be, because the credentials are refused: says
          #   nothing about a message, and passes once it is mended
          def unusable?(code) = %i[missing right credentials].include?(kind(code))

          # @param tried [Hash{Symbol=>String, nil}] a key of {ADVICE_TO}, and the name of what it was tried with
          # @return [String, nil] what to do about it, in one line; nil: nothing is known
          def advice(code, **tried)
            symbol = symbol(code)
            found = tried.compact.filter_map { |what, name| ADVICE_TO.fetch(what)[symbol]&.sub("%s", name) }
            found.first || ADVICE[symbol]
          end

          # @param text [String, nil] what librdkafka or the broker says
          # @return [String] text and advice, in one line
          def explain(code, text, **) = [*text, *advice(code, **)].join("; ")

          # @return [String] librdkafka's name, such as "_TRANSPORT"
          def name_of(number) = Rdkafka::Bindings.rd_kafka_err2name(number)

          # @return [Symbol] as the gem has it
          def symbol(code)
            case code
            when Symbol then code
            when String then code.delete_prefix("_").downcase.to_sym
            when Integer then symbol(name_of(code))
            else symbol(code.respond_to?(:code_name) ? code.code_name : code.code)
            end
          end
        end
      end
    end
  end
end
