# frozen_string_literal: true

module Guildhall
  class Pipeline
    # Lets through the values for which the callable's answer is false or nil; the others are {DROPPED}.
    class Reject < Stage
      def initialize(callable, name: :reject)
        super
      end

      private

      def judge(value, answer)
        answer ? DROPPED : value
      end
    end
  end
end
