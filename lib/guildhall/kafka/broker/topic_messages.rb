# frozen_string_literal: true

module Guildhall
  module Kafka
    module Broker
      # What is in a topic now, for consoles and scripts: `Guildhall::Kafka.messages("orders")`. Each method reads anew, decodes as the
      # route says, and joins no group.
      class TopicMessages
        include Enumerable

        def initialize(application, topic, partitions)
          @application = application
          @topic = topic
          @partitions = partitions
        end

        # In order within each partition, from the oldest.
        def each(&block)
          return enum_for(:each) unless block

          @application.each_message(@topic, partitions: @partitions, &block)
          self
        end

        # The newest: of all partitions, by their time. The last of each partition are read.
        # @return [Message, Array<Message>, nil]
        def last(count = nil)
          return last(1).first unless count

          found = @application.each_message(@topic, from: -count, partitions: @partitions).to_a
          found.sort_by { |message| [message.timestamp, message.offset] }.last(count)
        end

        # @param condition [String, nil] of the payload, such as `$.total > 5`; others as of `search`: key:, headers:, from:, until:, limit:
        # @return [Array<Search::Found>] with `payload` and `record`
        def where(condition = nil, **others)
          found = []
          @application.search(@topic, where: condition, partitions: @partitions, **others).run { |message| found << message }
          found
        end

        # Reads nothing.
        def inspect = "#<#{self.class} of #{@topic}: first(5), last(5), where(\"$.total > 5\"), each>"
      end
    end
  end
end
