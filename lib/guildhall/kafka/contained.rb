# frozen_string_literal: true

require "guildhall/errors"

module Guildhall
  module Kafka
    # Runs the application's code. Whatever that does, the framework learns of it: `exit` must not end a runner, and
    # `Thread.exit`, which nothing can rescue, must not look like success.
    module Contained
      # @param report [#call] given what the block raised, or a {TaskError} when it has ended its thread
      # @return [Object, nil] what the block returned; nil when it came to no end
      def self.run(report)
        value = yield
        ended = true
        value
      rescue Exception => error # rubocop:disable Lint/RescueException -- see above
        ended = true
        report.call(error)
        nil
      ensure
        report.call(TaskError.new("its thread was ended while it ran (by Thread.exit, or at the shutdown's deadline)")) unless ended
      end
    end
  end
end
