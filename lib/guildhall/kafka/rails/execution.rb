# frozen_string_literal: true

module Guildhall
  module Kafka
    module Rails
      # Middleware: runs consumers inside the application's reloader and executor (connections are returned, the query cache is on,
      # CurrentAttributes are reset; code is reloaded before, never within), with the lines of `Rails.logger` tagged with
      # consumer group, topic, partition and first offset.
      class Execution
        def initialize(rails)
          @reloader = rails.reloader
        end

        # @return [Object] what the block returns
        def call(call, &block)
          return block.call if jobs?(call)

          tagged(call.topic.group, call.id) { @reloader.wrap { Errors.during(call, &block) } }
        end

        private

        # Each job is wrapped and tagged by itself: one must not see what another has left in CurrentAttributes.
        def jobs?(call)
          call.event == :consume && Kafka.const_defined?(:ActiveJob, false) && call.topic.consumer <= ActiveJob::Consumer
        end

        # Not `tagged`: several loggers that are broadcast to would each call the block.
        def tagged(*tags)
          logger = ::Rails.logger
          return yield unless logger.respond_to?(:push_tags)

          begin
            logger.push_tags(*tags)
            yield
          ensure
            logger.pop_tags(tags.size)
          end
        end
      end
    end
  end
end
