# frozen_string_literal: true

require "forwardable"
require_relative "../producing/settings"
require_relative "native_client"

module Guildhall
  module Kafka
    module Broker
      # An admin client: which topics there are, how they and the brokers are set up, and topics that are to be created.
      # @api private
      class AdminClient
        extend Forwardable

        BROKERS_DEFAULT = -1 # how many partitions, or replicas
        TIMEOUT_SECONDS = 10
        CLOSE_SECONDS = 5
        private_constant :CLOSE_SECONDS

        def self.open(settings)
          admin = new(settings)
          yield admin
        ensure
          admin&.close
        end

        # Settings that only a consumer or a producer needs are left out.
        def initialize(settings)
          @settings = Producing::Settings.shared(settings)
          @client = NativeClient::Configuration.new(@settings).admin
          @native = NativeClient.of(@client)
          @tokens = Tokens.keeper(@settings)
          @tokens&.add(self)
        end

        def_delegators :@client, :describe_topics, :describe_configs

        # @yieldparam handle [FFI::Pointer] usable until the block ends: closing waits for it
        def with_handle(&) = @native.with_inner(&)

        # Blocks for the brokers' answer: as {Librdkafka.metadata}, of all topics.
        def metadata(timeout_ms) = with_handle { |handle| Librdkafka.metadata(handle, timeout_ms) }

        # The id of a broker, the controller where that is one; nil: none answers. Blocks for the answer.
        def broker_id(timeout_ms)
          id = with_handle { |handle| Librdkafka.rd_kafka_controllerid(handle, timeout_ms) }
          id unless id.negative?
        end

        # Blocks for the brokers' answer.
        # @param what [String] what is asked for, for errors, such as "topic orders to be created"
        # @yieldparam client [Rdkafka::Admin]
        # @yieldreturn [Rdkafka::AbstractHandle]
        # @return [Object] the gem's report
        # @raise [KafkaError] with what the broker says, and what to do about it
        def request(what, seconds = TIMEOUT_SECONDS)
          yield(@client).wait(max_wait_timeout_ms: (seconds * 1000).ceil)
        rescue Rdkafka::AbstractHandle::WaitTimeoutError
          raise UnreachableError.at(@settings, Librdkafka::TIMED_OUT, "it was asked for #{what}")
        rescue Rdkafka::RdkafkaError => error
          raise AdminClient.error(error, what)
        end

        # @param error [Rdkafka::RdkafkaError] with what the broker says
        # @return [KafkaError]
        def self.error(error, what)
          # About a topic's settings, the gem has the brokers' words in front of its own.
          text = (error.broker_message || error.message_prefix).to_s.split.join(" ").delete_suffix(".")
          text = Rdkafka::Bindings.rd_kafka_err2str(error.rdkafka_response) if text.empty?
          KafkaError.of(error.rdkafka_response, "#{what}: #{text}")
        end

        # Does not wait for an answer. The settings are the topic's.
        def create_topic(name, partitions, settings = {}, replicas = BROKERS_DEFAULT)
          @client.create_topic(name, partitions, replicas, settings)
        end

        # Blocks for some seconds at most; what is not done by then goes on behind the scenes. The thread of the gem that polls is killed
        # first: by itself it waits for requests that are not answered. It ends once a callback that it is in returns.
        def close(timeout: CLOSE_SECONDS)
          return if @ending || @client.closed?

          @tokens&.remove(self)
          ObjectSpace.undefine_finalizer(@client)
          with_handle { |handle| NativeClient.outlive_ruby(handle) }
          polling = @native.instance_variable_get(:@polling_thread)&.kill
          @ending = Thread.new do
            polling&.join
            NativeClient.destroy(NativeClient.detach(@client), timeout)
          end
          @ending.name = "guildhall admin's end"
          @ending.join(timeout)
        end
      end
    end
  end
end
