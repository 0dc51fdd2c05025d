# frozen_string_literal: true

module Guildhall
  module Kafka
    module Reporting
      # Where every thread of this process is, and what every partition does: for TTIN, and for the command `trace`.
      # @api private
      module Trace
        FRAMES = 20 # of each thread
        private_constant :FRAMES

        # @return [Array<String>] of each thread, in several lines
        def self.threads
          Thread.list.map { |thread| "#{thread.inspect}\n  #{(thread.backtrace || []).first(FRAMES).join("\n  ")}" }
        end

        # @return [Array<String>]
        def self.lines(application)
          lines = threads.concat(application.partitions.map(&:inspect))
          flight = application.backpressure or return lines

          lines << "in flight: #{flight.messages} of #{flight.max_messages} messages, #{flight.bytes} of #{flight.max_bytes} bytes"
        end
      end
    end
  end
end
