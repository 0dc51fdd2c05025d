# frozen_string_literal: true

require "forwardable"

module Guildhall
  module Kafka
    module Virtual
      # One virtual partition's consumer, for as long as the partition is assigned: what {Partition} is to a consumer
      # that has the partition to itself.
      class Seat
        extend Forwardable

        # @!method topic
        #   @see Partition#topic
        def_delegators :@partition, :topic, :name, :number, :commit, :pause, :resume, :paused?, :seek, :attempt, :revoked?,
          :stopping?, :producer, :synchronize, :collapsed?

        # @return [Consumer]
        attr_reader :consumer

        # @param partition [Partition]
        def initialize(partition)
          @partition = partition
          @consumer = partition.topic.consumer.new
          @consumer.seat = self
          @consumer.initialized
        end

        # What is to be done next.
        # @param round [Round]
        # @param messages [Messages]
        # @return [self]
        def prepare(round, messages)
          @round = round
          @messages = messages
          self
        end

        # Called by a runner.
        # @return [void]
        def run
          @consumer.messages = @messages
          @consumer.consume
          @round.succeeded(@messages)
        rescue Exception => error # rubocop:disable Lint/RescueException -- even `exit` must not end a runner
          @round.failed(error, @messages)
        ensure
          @round.failed(TaskError.new(Partition::Work::ENDED), @messages) if Runners.ending?
          @consumer.messages = nil
          @round.ended
        end

        # @param offset [Integer] of the last message of this virtual partition that is done
        # @param metadata [String, nil]
        # @return [Boolean] false when the partition is no longer ours
        def mark(offset, metadata = nil)
          @round.mark(@messages, offset, metadata)
        end
      end
    end
  end
end
