# frozen_string_literal: true

require_relative "../config/duration"
require_relative "reporting"

module Guildhall
  module Kafka
    module Routing
      # What can be wrong with a topic's settings for messages that fail: retries, dead letters, and what the promise of
      # delivery leaves room for.
      class FailureChecks
        include Reporting

        # @return [void]
        def run
          check_retries
          check_dead_letter_queue
          check_delivery
        end

        private

        def check_retries
          retries = @topic.retries
          pauses = retries.deconstruct_keys(%i[pause_timeout pause_max_timeout])
          pauses.each { |name, value| (problem = value && Config::Duration.problem(value)) && report("retries #{name} #{problem}") }
          one_of("retries pause_with_exponential_backoff", retries.pause_with_exponential_backoff, [true, false, nil])
          check_classes(retries)
          first, most = pauses.values
          return unless first.is_a?(Numeric) && most.is_a?(Numeric) && first > most

          report("retries pause_timeout (#{first} s) must not be longer than pause_max_timeout (#{most} s)")
        end

        def check_classes(retries)
          {non_retryable: retries.non_retryable, transient: retries.transient}.each do |name, classes|
            wrong = classes.reject { |one| one.is_a?(Class) ? one <= Exception : one.is_a?(Module) }
            report("retries #{name} takes classes of errors, not #{wrong.map(&:inspect).join(", ")}") if wrong.any?
          end
          if retries.non_retryable.any? && @topic.dead_letter_queue.nil?
            report("retries non_retryable needs a dead_letter_queue: without one a message is retried until it succeeds")
          end
          both = retries.non_retryable & retries.transient
          report("retries has #{both.join(", ")} as non_retryable and as transient") if both.any?
        end

        def check_dead_letter_queue
          queue = @topic.dead_letter_queue or return
          check_dead_letter_topic(queue.topic)
          unless queue.max_retries.is_a?(Integer) && !queue.max_retries.negative?
            report("dead_letter_queue max_retries has to be an Integer ≥ 0, not #{queue.max_retries.inspect}")
          end
          %i[independent dispatch_undecodable].each { |name| one_of("dead_letter_queue #{name}", queue.public_send(name), [true, false]) }
          check_strategy(queue.strategy)
        end

        def check_strategy(strategy)
          return takes("dead_letter_queue strategy", strategy, 2) if strategy.respond_to?(:call)
          return if %i[one all].include?(strategy)

          report("dead_letter_queue strategy has to be :one, :all or callable, not #{strategy.inspect}")
        end

        def check_dead_letter_topic(name)
          return if name == false || (name.is_a?(String) && name.match?(Checks::NAME))

          report("dead_letter_queue topic has to be the name of a topic, or false to skip, not #{name.inspect}")
        end

        # Offsets are committed before the work is done: there is nothing left to retry, to mark or to set aside.
        def check_delivery
          return unless @topic.delivery == :at_most_once

          report("delivery :at_most_once cannot have a dead_letter_queue: a message that fails is not retried") if @topic.dead_letter_queue
          return unless @topic.manual_offset_management == true

          report("delivery :at_most_once cannot have manual_offset_management: offsets are committed before consume is called")
        end
      end
    end
  end
end
