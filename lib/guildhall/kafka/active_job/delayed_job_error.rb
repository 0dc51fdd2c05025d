# frozen_string_literal: true

require "guildhall/errors"

module Guildhall
  module Kafka
    module ActiveJob
      # A job is to be performed later, and the routes have no delay topics. As all of Active Job's adapters without delays raise a
      # NotImplementedError, and not an `ActiveJob::EnqueueError`, which `perform_later` would swallow.
      class DelayedJobError < ::NotImplementedError
        include Error
      end
    end
  end
end
