# frozen_string_literal: true

require_relative "../config"

module Guildhall
  module Kafka
    class Application
      # Which clients of librdkafka an application has, and with which settings.
      class Clients
        # @param config [Config]
        def initialize(config)
          @config = config
          @process_number = nil
        end

        # @return [Integer, nil] which of several processes this is that have the same settings; nil: there is one
        attr_accessor :process_number

        # @param topics [Array<Routing::Topic>]
        # @return [Array<Array<Routing::Topic>>] those together that one client can read
        def together(topics)
          topics.group_by do |topic|
            [topic.group, (topic.name if topic.assigned), topic.kafka, settings(topic)[:"auto.offset.reset"].to_s]
          end.values
        end

        # Several clients of one group are as many members, of which each needs a name of its own where they have names.
        # @param topic [Routing::Topic] one of the client's
        # @param number [Integer] which it is of the clients of this group
        # @return [Hash{Symbol=>Object}] librdkafka's
        def settings(topic, number = 1)
          settings = Config::LibrdkafkaSettings::DEFAULTS.merge(@config.kafka.transform_keys(&:to_sym), topic.kafka)
          settings[:"auto.offset.reset"] = topic.initial_offset if topic.initial_offset
          instance = settings[:"group.instance.id"]
          settings[:"group.instance.id"] = [instance, *process_number, *(number if number > 1)].join("-") if instance
          Config::Secrets.hide(settings).merge("client.id": @config.client_id, "group.id": topic.group, "enable.auto.offset.store": false,
            "enable.auto.commit": false)
        end
      end
    end
  end
end
