# frozen_string_literal: true

require "guildhall/option_rules"
require_relative "../broker/errors"

module Guildhall
  module Kafka
    module Group
      # Which of Kafka's two protocols the members of groups use. With the classic one the members divide the partitions themselves; with
      # the consumer protocol (KIP-848) the brokers do, and only partitions that move rest. Nothing of librdkafka's says beforehand whether
      # brokers offer it. So a member that may use either asks for the consumer protocol, which takes one request, and joins by the classic
      # one where it is refused. Any thread.
      class Protocols
        CHOICE = OptionRules.one_of(:auto, :consumer, :classic)
        NAME = :"group.protocol"
        CONSUMER = "consumer"
        ASSIGNOR = :"group.remote.assignor"
        # Settings of librdkafka that the consumer protocol does not know => what takes their place.
        CLASSIC = {
          "session.timeout.ms": "the brokers decide it: group.consumer.session.timeout.ms, or consumer.session.timeout.ms of the group",
          "heartbeat.interval.ms":
            "the brokers decide it: group.consumer.heartbeat.interval.ms, or consumer.heartbeat.interval.ms of the group",
          "partition.assignment.strategy": "group.remote.assignor takes its place (uniform or range)",
          "group.protocol.type": "nothing takes its place"
        }.freeze
        # Answers to the first request of a member, after which the classic protocol is tried: the brokers do not know the request, or do
        # not take it; the group has classic members that the brokers do not let work together with others; one of the topics may not be
        # described, which holds up only that topic with the classic protocol.
        REFUSALS = %i[unsupported_feature unsupported_version group_id_not_found topic_authorization_failed].freeze
        # The answer to a classic member whose group has members with another strategy.
        INCONSISTENT = :inconsistent_group_protocol
        private_constant :CHOICE, :NAME, :ASSIGNOR, :CLASSIC, :REFUSALS, :INCONSISTENT

        def self.rule = CHOICE

        # @param config [Config]
        def initialize(config)
          @config = config
          @refused = []
          @lock = Mutex.new
        end

        # @param settings [Hash{Symbol=>Object}] librdkafka's, of a client that joins the group
        # @param refused [Boolean] whether the consumer protocol was refused to the group
        # @return [Hash{Symbol=>Object}] the same, with the protocol
        def apply(settings, group, refused: @refused.include?(group))
          protocol = choice(settings)
          protocol = refused || CLASSIC.keys.intersect?(settings.keys) ? :classic : :consumer if protocol == :auto
          settings = settings.except(ASSIGNOR) if protocol == :classic
          settings.merge(NAME => protocol.to_s)
        end

        # @param settings [Hash{Symbol=>Object}] of a client, the topic's over the application's
        # @param own [Hash{Symbol=>Object}] those of the topic alone
        # @return [Array<String>] what does not go with the protocol
        def problems(settings, topic, own)
          choice = choice(settings)
          classic = CLASSIC.keys & settings.keys
          owner = ->(name) { own.key?(name) ? "topic #{topic.to_s.inspect} kafka" : "kafka" }
          if choice == :consumer
            return classic.map { |name| "#{owner.call(name)} must not set #{name} with the consumer protocol: #{CLASSIC[name]}" }
          end
          return [] if !settings.key?(ASSIGNOR) || (choice == :auto && classic.none?)

          instead = choice == :auto ? ", which #{classic.first} rules out: leave one out" : "; here use partition.assignment.strategy"
          ["#{owner.call(ASSIGNOR)} must not set #{ASSIGNOR}: it belongs to the consumer protocol#{instead}"]
        end

        # A member of the group has an error that is no single topic's, of a client with these settings.
        # @return [Symbol, nil] whether the next one joins by the classic protocol, because this one's was refused: `:first`, where
        #   nobody has noticed that before, or `:again`; nil: that is not so
        def fall_back(group, settings, error)
          return unless choice(settings) == :auto && REFUSALS.include?(Broker::Errors.symbol(error))

          @lock.synchronize do
            next :again if @refused.include?(group)

            @refused = [*@refused, group].freeze
            :first
          end
        end

        # A member has an error, and stays. Beside members with librdkafka's cooperative-sticky neither protocol lets another kind in: which
        # one will, once they have left, cannot be known, so both are tried in turn.
        # @return [Boolean] whether the next client is to ask for the consumer protocol again, after it was refused
        def ask_again?(group, error)
          return false unless @refused.include?(group) && Broker::Errors.symbol(error) == INCONSISTENT

          @lock.synchronize { @refused = (@refused - [group]).freeze }
          true
        end

        private

        # librdkafka takes capitals, too.
        def choice(settings) = settings[NAME]&.then { |name| name.to_s.downcase.to_sym } || @config.group_protocol
      end
    end
  end
end
