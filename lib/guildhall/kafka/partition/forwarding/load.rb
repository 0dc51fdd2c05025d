# frozen_string_literal: true

require "guildhall/clock"
require_relative "../../errors"
require_relative "../../producing/delivery"
require_relative "../dispatches"

module Guildhall
  module Kafka
    class Partition
      class Forwarding
        # A message on its way to another topic. Used by one thread at a time.
        class Parcel
          attr_reader :message
          # @return [Producing::Delivery, nil] while it is on its way
          attr_reader :handle
          # @return [Exception, nil] why it has to be sent again
          attr_reader :failure
          # @return [Exception, nil] why it is not sent
          attr_reader :refused
          # @return [Load, nil] that it was part of when a call had to leave it
          attr_accessor :load
          # Counts the sends of one message to one topic within a call of `consume`: the n-th of a repeated call stands for the n-th of the
          # first.
          attr_accessor :ordinal

          # @param record [Hash{Symbol=>Object}, Exception] what is sent: topic, payload, key, headers, partition; without a partition and a
          #   key those of one partition stay together. An error: why it cannot be sent
          # @param patient [Boolean] whether it waits for a topic that is missing or may not be written to; false: it is refused then
          # @param once [Boolean] whether the message is sent to one topic only, whichever that is
          def initialize(message, record, patient: true, once: false)
            @message = message
            @patient = patient
            @once = once
            @arrived = false
            record.is_a?(Exception) ? @refused = record : @record = record
          end

          def topic = @record[:topic]

          # @return [Array] which message, and where it goes
          def route = @once ? origin : [*origin, topic]

          # @return [Array] the same in another call of `consume`, whatever the headers are
          def key = [*route, ordinal]

          # @return [Array] the same for those whose order matters
          def stream = [topic, @record[:key] || @record[:partition] || @message.partition]

          def arrived? = @arrived

          # @return [Boolean] whether nothing more is to be done for it
          def settled? = @arrived || !@refused.nil?

          # It has arrived, but is to be sent once more.
          def reset
            @arrived = false
          end

          # Does not wait for the broker's confirmation.
          # @param counts [Hash{String=>Integer, Exception}] of the topics' partitions; may block
          def start(producer, counts)
            return if @handle || settled?

            @failure = nil
            @handle = producer.start(addressed(counts))
          rescue Rdkafka::RdkafkaError, TimeoutError => error
            failed(error)
          end

          # Blocks for the broker's confirmation.
          # @return [Boolean] false: it is still on its way
          def wait(limit, give_up)
            return true unless @handle

            @handle.await(limit, give_up)
            @handle = nil
            @arrived = true
          rescue TimeoutError
            false
          rescue ProduceError => error
            failed(error)
          end

          def undelivered
            reason = @failure ? ProduceError.reason_of(@failure) : Dispatches::LATE
            topic, partition, offset = origin
            ForwardingError.new("#{topic}/#{partition}@#{offset} could not be sent to topic #{self.topic}, and its partition waits until " \
                                "that works: #{reason}", to: self.topic, reason:)
          end

          private

          def origin = [@message.topic, @message.partition, @message.offset]

          def addressed(counts)
            return @record if @record[:key] || @record[:partition]

            count = counts[topic]
            count.is_a?(Exception) ? raise(count) : {**@record, partition: @message.partition % count}
          end

          def failed(error)
            @handle = nil
            waits = Producing::Delivery.passing?(error) || (@patient && Broker::Errors.unusable?(error.code))
            waits ? @failure = error : @refused = error
            true
          end
        end

        # What was sent by one call. See {Dispatches}.
        class Load
          attr_reader :generation

          # @param parcels [Array<Parcel>] in the order in which they are sent
          def initialize(parcels, runtime)
            @parcels = parcels
            @generation = parcels.first.message.batch.generation
            @runtime = runtime
            @asking = {} # topic => thread
            @lock = Mutex.new
            @ended = false
            @on_settled = []
          end

          def first = open.first&.message

          def target = open.first&.topic

          def deliver(give_up)
            producer = @runtime.producer
            deliver_by(producer, Clock.now + producer.wait_seconds, give_up)
          end

          # @param limit [Float] of the {Clock}
          # @param give_up [#call] asked now and then
          # @raise [ForwardingError]
          def deliver_by(producer, limit, give_up = -> { false })
            if take_back_later_ones(limit, give_up)
              counts = Hash.new { |known, topic| known[topic] = partition_count(topic, producer, limit, give_up) }
              open.each { |parcel| give_up.call ? break : parcel.start(producer, counts) }
              wait(@parcels, limit, give_up)
            end
            failing = open.find(&:failure) || open.first
            raise failing.undelivered if failing
          end

          # @return [Boolean] whether the brokers may still take all of it
          def late? = open.none?(&:failure)

          def abandon
            @lock.synchronize { @ended = true }
            open.filter_map(&:handle).each { |handle| @runtime.abandon(handle) }
          end

          def settled = @lock.synchronize { @on_settled.slice!(0..) }.each(&:call)

          # @yield called once the brokers have all of it, by this thread or another; at once where it is no longer pending; never where a
          #   seek, or the partition's end, makes it void later
          def on_settled(&block)
            later = @lock.synchronize { !@ended && @on_settled << block }
            block.call unless later
          end

          # @return [Boolean] whether anybody waits for it: see {#on_settled}
          def awaited? = @lock.synchronize { @on_settled.any? }

          # @return [Boolean] whether it is still sent by {Dispatches}
          def pending? = !@ended

          private

          def open = @parcels.reject(&:settled?)

          # @return [Boolean] false: one of them is still on its way
          def wait(parcels, limit, give_up) = parcels.all? { |parcel| parcel.wait(limit, give_up) }

          # What comes behind one that has failed is sent again after it, as if all were sent for the first time: their order stays. One
          # that is still on its way might arrive before or after: nothing is sent until that is known.
          # @return [Boolean] false: one of them is still on its way
          def take_back_later_ones(limit, give_up)
            failed = {}
            later = @parcels.select do |parcel|
              failed[parcel.stream] = true if parcel.failure
              failed.any? && !parcel.failure && !parcel.refused && failed.key?(parcel.stream)
            end
            wait(later, limit, give_up).tap { |arrived| later.select(&:arrived?).each(&:reset) if arrived }
          end

          # The gem asks brokers that do not answer for longer than an attempt may last: a thread does that, for which the next attempt
          # waits on.
          # @return [Integer, Exception] the exception: why it is not known
          def partition_count(topic, producer, limit, give_up)
            asking = @asking[topic] ||= Thread.new { ask(topic, producer) }
            until asking.join([Clock.left(limit), Producing::Delivery::SLICE_SECONDS].min)
              next unless Clock.now >= limit || give_up.call

              return TimeoutError.new("no broker says how many partitions topic #{topic} has")
            end
            @asking.delete(topic).value
          end

          def ask(topic, producer)
            count = producer.partition_count(topic)
            count.positive? ? count : ProduceError.of(Broker::Librdkafka::UNKNOWN_TOPIC_OR_PART, topic)
          rescue StandardError => error
            error
          end
        end
      end
    end
  end
end
