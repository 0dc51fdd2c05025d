# frozen_string_literal: true

module Guildhall
  class Advisor
    # Leaves out the payloads for which a task raises, if they are the fewer: some of a topic's payloads are always broken.
    class Sieve
      SECONDS = 1 # of calling: payloads that are left then are not measured
      private_constant :SECONDS

      # @return [String, nil] what it raised first
      attr_reader :error

      def initialize(task, payloads)
        @task = task
        @two = Callable.takes_metadata?(task)
        @payloads = payloads
        @fine = []
        @failing = []
      end

      def count = @failing.size

      # Blocks while it calls the task with each payload.
      # @return [Payloads] those to measure: those that fail, if they are most, or if the task changes its payload, which {Cost} then says
      def sound
        limit = Clock.now + SECONDS
        @payloads.list.each do |payload|
          (fine?(payload) ? @fine : @failing) << payload
          break if Clock.now > limit
        end
        return @payloads if @fine.size == @payloads.size

        Payloads.new(@changes || @fine.size <= @failing.size ? @failing : @fine)
      end

      private

      def fine?(payload)
        @two ? @task.call(payload, nil) : @task.call(payload)
        true
      rescue *RAISED => error
        @error ||= "#{error.class}: #{Printable.words(Redaction.message(error), Cost::SHOWN)}"
        @changes = true if error.is_a?(FrozenError)
        false
      end
    end
  end
end
