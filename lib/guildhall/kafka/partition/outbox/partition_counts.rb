# frozen_string_literal: true

require "guildhall/clock"
require_relative "../../producing/delivery"

module Guildhall
  module Kafka
    class Partition
      class Outbox
        # How many partitions the topics have that a {Load} is sent to. Each topic is asked for once in an attempt. The gem asks brokers
        # that do not answer for longer than an attempt may last: a thread does that, for which the next attempt waits on. Used by one
        # thread at a time.
        class PartitionCounts
          MISSING = 3 # the broker's code for a topic that does not exist
          private_constant :MISSING

          def initialize
            @asking = {} # topic => thread
            @answers = {}
          end

          # An attempt begins: what the brokers have said before is asked for again.
          # @param limit [Float] of the {Clock}
          # @param give_up [#call] asked now and then
          def begin(producer, limit, give_up)
            @producer = producer
            @limit = limit
            @give_up = give_up
            @answers.clear
          end

          # Blocks for the brokers' answer.
          # @raise [Rdkafka::RdkafkaError] for a topic that is missing, for instance
          # @raise [Rdkafka::AbstractHandle::WaitTimeoutError] when no broker answers in time
          def of(topic)
            answer = @answers[topic] ||= ask(topic)
            answer.is_a?(Integer) ? answer : raise(answer)
          end

          private

          def ask(topic)
            asking = @asking.delete(topic) || start(topic)
            return asking.value if answered?(asking)

            @asking[topic] = asking
            Rdkafka::AbstractHandle::WaitTimeoutError.new("no broker says how many partitions topic #{topic} has")
          end

          def start(topic)
            producer = @producer
            Thread.new do
              count = producer.partition_count(topic)
              count.positive? ? count : Rdkafka::RdkafkaError.new(MISSING) # the gem does not raise it
            rescue StandardError => error
              error
            end
          end

          def answered?(asking)
            until asking.join([Clock.left(@limit), Producing::Delivery::SLICE_SECONDS].min)
              return false if Clock.now >= @limit || @give_up.call
            end
            true
          end
        end
      end
    end
  end
end
