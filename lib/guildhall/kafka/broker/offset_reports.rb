# frozen_string_literal: true

require "guildhall/error_boundary"
require_relative "start_report"

module Guildhall
  module Kafka
    module Broker
      # Publishes where a member begins to read, and where messages were deleted before it has read them.
      class OffsetReports
        STOP_SECONDS = 1 # for a question on its way
        private_constant :STOP_SECONDS

        def initialize(application, group)
          @application = application
          @group = group
          @threads = []
        end

        # The brokers are asked in a thread of its own: a rebalance does not wait for them. Does not block.
        # @param settings [Hash{Symbol=>Object}] its
        # @param pairs [Array<Array(String, Integer)>] topics and partitions
        # @param seeking [Array<String>] topics whose consumers may seek before they consume anything
        # @yield see {StartReport#events}
        def assigned(client, settings, pairs, seeking = [], &moved)
          return if pairs.empty?

          report = StartReport.new(client, settings, pairs, seeking)
          thread = Thread.new { guarded { report.events(&moved).each { |name, payload| publish(name, **payload) } } }
          thread.name = "guildhall offsets"
          thread.report_on_exception = false
          @threads = [*@threads.select(&:alive?), thread]
        end

        # librdkafka reads on elsewhere where the member was so slow that its next message has been deleted. Other gaps between messages are
        # none of that: marks of transactions, what compaction has removed. Does not block.
        # @param record [Record] the first one of those that were read just now
        def read(client, partition, record)
          expected = partition.position
          return unless expected && record.offset > expected

          first = client.begin_offset(partition.name, partition.number)
          return unless first && first > expected

          publish("offsets.reset", topic: partition.name, partitions: {partition.number => [expected, record.offset]})
        end

        # Ends the questions, without waiting long for answers.
        def stop = @threads.each(&:kill).each { |thread| thread.join(STOP_SECONDS) }

        # @return [Boolean] whether it is one of those that ask
        def include?(thread) = @threads.include?(thread)

        private

        # The client may be closed meanwhile.
        def guarded(&)
          ErrorBoundary.run(->(error) { @application.error(error, "offsets", group: @group) unless error.is_a?(Rdkafka::BaseError) }, &)
        end

        def publish(name, **) = @application.publish(name, group: @group, **)
      end
    end
  end
end
