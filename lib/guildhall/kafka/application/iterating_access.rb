# frozen_string_literal: true

require_relative "../broker/iterator"

module Guildhall
  module Kafka
    class Application
      # Reading topics in scripts, whether the application runs or not.
      module IteratingAccess
        # The messages of a topic, in order within each partition, without a consumer group: nothing is committed, and no member of any
        # group notices. Blocks while it waits for messages; leave it by `break`. Any thread of the main Ractor.
        # @param from [Integer, Symbol, Time] where to begin in each partition: an offset, :earliest, :latest, the first message at or
        #   after a Time; -10: with the last ten messages, which are read to be counted
        # @param until [Integer, Symbol, Time, nil] the offset, or the time, to stop before; :end: what is there now; nil: never
        # @param partitions [Array<Integer>, Integer, nil] nil: all
        # @param deserializer [#call, nil] nil: as the topic's route says, or none
        # @return [nil, Enumerator] without a block, an Enumerator, which may be `lazy`
        # @raise [Guildhall::ArgumentError] where there is no such topic, and for arguments that mean nothing
        # @raise [ConfigurationError] listing every error of the settings
        # @raise [KafkaError] also where a partition that is asked for has no leader
        def each_message(topic, from: :earliest, until: :end, partitions: nil, deserializer: nil, &block)
          til = binding.local_variable_get(:until) # which Ruby takes for a keyword of its own
          range = Broker::OffsetRange.new(from, til)
          unless block
            arguments = {from:, until: til, partitions:, deserializer:}
            return Enumerator.new { |messages| each_message(topic, **arguments) { |message| messages << message } }
          end

          iterator(topic.to_s, deserializer, partitions && [*partitions], range).each(&block)
          nil
        end

        private

        def iterator(name, deserializer, partitions, range)
          errors = Config::Errors.new
          @config.validate(errors)
          errors.raise!
          open_log
          route = iterated(name, deserializer)
          settings = client_settings(route).merge("group.id": "#{@config.client_id}.each_message")
          Broker::Iterator.new(route, settings, @config, partitions, range) { pool }
        end

        # The topic's route where there is one, else one for this alone.
        def iterated(name, deserializer)
          route = @routes.topics.find { |topic| topic.match?(name) } || Routing::TopicBuilder.new(name, @config.group_id, Config::Errors.new).build
          route = route.with(deserializer:) if deserializer
          route.with(name:)
        end
      end
    end
  end
end
