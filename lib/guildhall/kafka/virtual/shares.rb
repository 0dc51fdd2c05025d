# frozen_string_literal: true

module Guildhall
  module Kafka
    module Virtual
      # Deals a batch's messages out to virtual partitions: equal answers of the partitioner go to the same one.
      class Shares
        # @param topic [Routing::Topic] with virtual partitions
        # @param concurrency [Integer] how many there are where the route does not say
        def initialize(topic, concurrency)
          @topic = topic
          settings = topic.virtual_partitions
          @partitioner = settings.partitioner
          @reducer = settings.reducer
          @max = settings.max || concurrency
        end

        # @param messages [Messages]
        # @param batch [Batch]
        # @return [Hash{Integer=>Messages}] by virtual partition
        # @raise whatever the partitioner raises
        def deal(messages, batch)
          places = messages.group_by { |message| place(@partitioner.call(message)) }
          places.transform_values { |share| batch.share(share.map(&:offset), @topic) }
        end

        private

        def place(answer)
          (@reducer ? Integer(@reducer.call(answer)) : answer.hash) % @max
        end
      end
    end
  end
end
