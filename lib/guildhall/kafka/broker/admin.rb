# frozen_string_literal: true

require "forwardable"
require_relative "../connection/client_closer"
require_relative "../connection/counted_calls"
require_relative "../connection/librdkafka"
require_relative "../producing/producer"

module Guildhall
  module Kafka
    module Broker
      # An admin client: which topics there are, how they and the brokers are set up, and topics that are to be created.
      class Admin
        extend Forwardable

        BROKERS_DEFAULT = -1 # how many partitions, or replicas
        CLOSE_SECONDS = 5
        private_constant :CLOSE_SECONDS

        # @param settings [Hash{Symbol=>Object}] librdkafka's; those that only a consumer or a producer needs are left out
        # @yieldparam admin [Admin] closed when the block ends
        # @return [Object] what the block returns
        def self.open(settings)
          admin = new(settings)
          yield admin
        ensure
          admin&.close
        end

        def initialize(settings)
          @settings = settings
          @client = Rdkafka::Config.new(Producing::Producer.shared(settings)).admin
          @native = Connection::CountedCalls.of(@client)
        end

        # @!method describe_topics(names, include_authorized_operations:)
        # @!method describe_configs(resources)
        def_delegators :@client, :describe_topics, :describe_configs

        # Blocks for the brokers' answer.
        # @return [Array(Integer, Array)] as {Connection::Librdkafka.metadata}, of all topics
        def metadata(timeout_ms) = @native.with_inner { |handle| Connection::Librdkafka.metadata(handle, timeout_ms) }

        # Does not wait for an answer.
        # @param settings [Hash{Symbol=>String}] the topic's
        # @raise [Rdkafka::RdkafkaError]
        def create_topic(name, partitions, settings = {}) = @client.create_topic(name, partitions, BROKERS_DEFAULT, settings)

        # Blocks for some seconds at most.
        def close = Connection::ClientCloser.close_admin(@client, CLOSE_SECONDS)
      end
    end
  end
end
