# frozen_string_literal: true

module Guildhall
  class Advisor
    # A task as it is given, and, where it begins with a codec that can do either, with eager or lazy decoding.
    module Variants
      # @return [Hash{Symbol=>#call}] the given one first
      def self.of(task)
        codec = task.respond_to?(:decoder) ? task.decoder : task
        return {given: task} unless codec.respond_to?(:lazy) && codec.respond_to?(:document)

        rest = task.rest if task.is_a?(Pipeline)
        {given: task, lazy: rest ? codec.lazy >> rest : codec.lazy}.freeze
      end
    end
  end
end
