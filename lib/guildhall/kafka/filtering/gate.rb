# frozen_string_literal: true

require "guildhall/error_boundary"
require_relative "../partition/backoff"
require_relative "chain"

module Guildhall
  module Kafka
    # What happens to messages between the topic and the consumer: they are rejected, or wait.
    module Filtering
      # Lets the filters of a partition decide about each of its batches, once, before the consumer sees it. What has to wait
      # becomes a batch of its own, which pauses the partition when its turn comes. Used by one runner at a time.
      class Gate
        # @return [Gate, nil] nil: the route has no filters
        def self.for(partition)
          new(partition) if partition.topic.filters.any?
        end

        # (see .for)
        def initialize(partition)
          @partition = partition
          @reports = partition.reports
          @inbox = partition.inbox
          @topic = partition.topic
          @backoff = Partition::Backoff.new(partition.runtime.config, @topic.retries)
          @failures = 0
          @chain = nil
        end

        # @return [Messages::Batch, nil] what is consumed now; nil: nothing is, and the partition is paused, or the batch is void
        def pass(batch)
          return batch if batch.filtered?
          return wait(batch) if batch.held?

          ErrorBoundary.contain(->(error) { failed(error, batch) }) { decide(batch) }
        end

        private

        def chain
          @chain ||= Chain.new(@topic.filters) do |name, count|
            publish("filter.rejected", filter: name, count:)
          end
        end

        def decide(batch)
          selection = chain.call(batch)
          @failures = 0
          batch.reject(selection.rejected)
          return batch.tap(&:filtered) unless selection.postponed

          selection.postponed.zero? ? wait(batch.hold(selection.seconds)) : cut(batch, selection)
        end

        def wait(batch)
          seconds = batch.held_seconds
          publish("filter.waiting", offset: batch.first_offset, seconds:)
          @inbox.hold(batch, seconds)
          nil
        end

        def cut(batch, selection)
          now, later = batch.split(selection.postponed)
          later.hold(selection.seconds)
          now.tap(&:filtered) if @inbox.replace(batch, [now, later])
        end

        # What it has decided before it raised does not count: the filters are called with the same messages again.
        def failed(error, batch)
          @reports.error(error, "filter", offset: batch.first_offset)
          @inbox.pause(:backoff, @backoff.seconds(@failures += 1))
          nil
        end

        def publish(name, **payload)
          @reports.publish(name, **payload) if @partition.runtime.listening?(name)
        end
      end
    end
  end
end
