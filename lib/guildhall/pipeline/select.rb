# frozen_string_literal: true

module Guildhall
  class Pipeline
    # Lets through the values for which the callable's answer is true; the others are {DROPPED}.
    class Select < Stage
      def initialize(callable, name: :select)
        super
      end

      private

      def judge(value, answer)
        answer ? value : DROPPED
      end
    end
  end
end
