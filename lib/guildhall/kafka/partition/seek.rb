# frozen_string_literal: true

require_relative "backoff"
require_relative "../group/client"

module Guildhall
  module Kafka
    class Partition
      # Moves a partition to another offset. What was read already is void at once; the listener's thread, which alone may
      # move librdkafka's position, does the rest. Where the broker cannot say which offset is meant, it is asked again, and
      # nothing of this partition is read meanwhile.
      # @api private
      class Seek
        Request = Struct.new(:target, :failures, :generation)
        private_constant :Request

        def initialize(partition, listener)
          @partition = partition
          @inbox = partition.inbox
          @progress = partition.progress
          @listener = listener
          @timer = partition.runtime.timer
          @backoff = Backoff.new(partition.runtime.config, partition.topic.retries)
          @request = nil
        end

        # Does not block. A later seek takes the place of one that has not been done.
        # @yield makes void what was read, with the lock of {Inbox} held; what it raises keeps all as it was
        # @yieldreturn [Integer] the generation that begins with it
        def start(target)
          request = Request.new(target, 0)
          @inbox.seek do
            request.generation = yield if block_given?
            @request = request
          end
          @listener.request { try(request) }
        end

        # A seek that was not done yet will not be: that is reported.
        def close
          request = @request
          report(SeekError.new("the partition was revoked before this seek was done"), request) if request
        end

        private

        # By the listener's thread.
        def try(request)
          return if @inbox.leaving? || !@request.equal?(request)

          client = @listener.client
          offset = client.resolve(@partition.name, @partition.number, request.target)
          client.seek(@partition.name, @partition.number, offset)
          @progress.read_to = offset
          @progress.begin_at(offset, request.generation) if request.generation
          @inbox.sought { @request.equal?(request).tap { |last| @request = nil if last } }
        rescue Rdkafka::RdkafkaError => error
          report(error, request)
          request.failures += 1
          @timer.after(@backoff.seconds(request.failures)) { @listener.request { try(request) } }
        end

        def report(error, request) = @partition.reports.error(error, "seek", to: request.target)
      end
    end
  end
end
