# frozen_string_literal: true

require "guildhall/error_boundary"
require_relative "../partition/backoff"
require_relative "filter_context"

module Guildhall
  module Kafka
    module Filtering
      # Calls the filters of a partition with each of its batches, once, before the consumer sees it. Messages that have to wait become a
      # batch of their own, which pauses the partition when its turn comes. Used by one runner at a time.
      # @api private
      class FilterRunner
        def initialize(partition)
          @partition = partition
          @reports = partition.reports
          @inbox = partition.inbox
          @topic = partition.topic
          @backoff = Partition::Backoff.new(partition.runtime.config, @topic.retries)
          @failures = 0
          @filters = nil
        end

        # @return [Messages::Batch, nil] what is consumed now; nil: nothing is, because the partition is paused, or the batch is void
        def pass(batch)
          return batch if batch.filtered?
          return wait(batch) if batch.postponed?

          ErrorBoundary.contain(->(error) { failed(error, batch) }) { filter(batch) }
        end

        private

        def filter(batch)
          context = call_filters(batch)
          @failures = 0
          batch.reject(context.rejected)
          return batch.tap(&:filtered) unless context.postponed

          context.postponed.zero? ? wait(batch.postpone(context.seconds)) : cut(batch, context)
        end

        def call_filters(batch)
          # Made here, not when the partition is assigned, so that a filter that cannot be made is retried like one that raises.
          @filters ||= @topic.filters.map { |filter| [filter.name, filter.build] }
          context = FilterContext.new(batch)
          @filters.each do |name, filter|
            before = context.rejected.size
            filter.call(context)
            count = context.rejected.size - before
            publish("filter.rejected", filter: name, count:) if count.positive?
            break if context.empty?
          end
          context
        end

        def wait(batch)
          seconds = batch.postponed_seconds
          publish("filter.waiting", offset: batch.first_offset, seconds:)
          @inbox.pause_for(batch, :filter, seconds)
          nil
        end

        def cut(batch, context)
          now, later = batch.split(context.postponed)
          later.postpone(context.seconds)
          now.tap(&:filtered) if @inbox.replace(batch, [now, later])
        end

        # Rejections before one of the filters raised are void: all filters are called with the same messages again.
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
