# frozen_string_literal: true

require_relative "../settings/rules"

module Guildhall
  module Kafka
    class Partition
      # How long a partition rests after its consumer raised.
      # @api private
      class Backoff
        JITTER = 0.2 # so that partitions that failed together do not come back together

        # @param retries [Routing::Retries, nil] a topic's own settings
        def initialize(config, retries = nil)
          @first = retries&.pause_timeout || config.pause_timeout
          @most = retries&.pause_max_timeout || config.pause_max_timeout
        end

        # @return [String, nil] why the two settings cannot be combined
        def problem
          return if [@first, @most].any? { |seconds| Settings::Rules::DURATION.problem(seconds) } || @first <= @most

          "pause_timeout (#{@first} s) must not be longer than pause_max_timeout (#{@most} s)"
        end

        # @param failures [Integer] in a row, from 1
        # @return [Float] seconds
        def seconds(failures)
          [@first * (2**[failures - 1, 30].min), @most].min * (1 + (JITTER * ((2 * rand) - 1)))
        end
      end
    end
  end
end
