# frozen_string_literal: true

require_relative "../config"
require_relative "../group/protocols"
require_relative "../producing/settings"

module Guildhall
  module Kafka
    class Application
      # Which clients of librdkafka an application has, and with which settings.
      # @api private
      class Clients
        # What a connection's security depends on.
        SECURITY = /\A(?:security\.protocol|(?:enable\.)?ssl[._].*)\z/
        DEFAULT_PORT = 9092
        private_constant :SECURITY, :DEFAULT_PORT

        # @return [Array<String>] the brokers that a client connects to first, as HOST:PORT
        def self.addresses(settings)
          servers = settings[:"bootstrap.servers"] || settings[:"metadata.broker.list"]
          servers.to_s.split(",").map do |server|
            address = server.strip.sub(%r{\A\w+://}, "")
            address.match?(/:\d+\z/) ? address : "#{address}:#{DEFAULT_PORT}"
          end
        end

        # @return [Integer, nil] which of several processes this is that have the same settings; nil: there is one
        attr_accessor :process_number

        def initialize(config)
          @config = config
          @protocols = Group::Protocols.new(config)
        end

        # @return [Array<Array<Routing::Topic>>] those together that one client can read
        def together(topics)
          topics.group_by do |topic|
            [topic.group, (topic.name if topic.assigned), topic.kafka, settings(topic)[:"auto.offset.reset"].to_s]
          end.values
        end

        # @return [Hash{Symbol=>Object}, nil] security settings of the clients that have it among their bootstrap.servers; nil: none has, as
        #   where somebody else's client connects to it, or they differ
        def connecting_to(broker, topics)
          consumers = topics.map { |topic| @config.librdkafka.merge(topic.kafka) }
          all = [@config.librdkafka, *consumers, Producing::Settings.of(@config)]
          own = all.select { |settings| Clients.addresses(settings).include?(broker) }
          known = own.map { |settings| settings.select { |name, _| SECURITY.match?(name) } }
          known.first if known.uniq.one?
        end

        # Several clients of one group are as many members, of which each needs a name of its own where they have names.
        # @param topic [Routing::Topic] one of the client's
        # @param number [Integer] which it is of the clients of this group
        # @param refused [Hash{Symbol=>Boolean}] `refused: true`: as if the brokers refused the consumer protocol
        def settings(topic, number = 1, **refused)
          settings = given(topic)
          settings = @protocols.apply(settings, topic.group, **refused) unless topic.assigned
          settings[:"auto.offset.reset"] = topic.initial_offset if topic.initial_offset
          instance = settings[:"group.instance.id"]
          settings[:"group.instance.id"] = [instance, *process_number, *(number if number > 1)].join("-") if instance
          Config::Secrets.hide(settings).merge("client.id": @config.client_id, "group.id": topic.group, "enable.auto.offset.store": false,
            "enable.auto.commit": false)
        end

        # @return [Array<String>] settings that do not go with the protocol of the topic's group
        def protocol_problems(topic) = topic.assigned ? [] : @protocols.problems(given(topic), topic, topic.kafka)

        # A member of the topic's group has an error that is no single topic's. See {Group::Protocols#fall_back}.
        def fall_back(topic, error) = @protocols.fall_back(topic.group, given(topic), error)

        # A member of the topic's group has an error. See {Group::Protocols#ask_again?}.
        def ask_again?(topic, error) = @protocols.ask_again?(topic.group, error)

        private

        def given(topic) = Config::LibrdkafkaSettings::DEFAULTS.merge(@config.librdkafka, topic.kafka)
      end
    end
  end
end
