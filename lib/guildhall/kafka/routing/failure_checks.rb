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

        RETRIES = OptionRules.new(
          pause_timeout: Config::Duration::RULE.or(nil), pause_max_timeout: Config::Duration::RULE.or(nil),
          pause_with_exponential_backoff: OptionRules.one_of(true, false, nil), contention_limit: OptionRules.integer
        )
        DEAD_LETTER_QUEUE = OptionRules.new(
          topic: TOPIC_NAME.or(false), max_retries: OptionRules.integer(0..), independent: OptionRules.boolean,
          dispatch_undecodable: OptionRules.boolean, strategy: OptionRules.object("a callable", :call).or(:one, :all)
        )
        RETRY_TOPICS = OptionRules.new(delays: ASCENDING_SECONDS, prefix: TOPIC_PREFIX.or(nil))
        private_constant :RETRIES, :DEAD_LETTER_QUEUE, :RETRY_TOPICS

        def run
          check_retries
          check_dead_letter_queue
          check_retry_topics
          check_delivery
        end

        private

        def check_retries
          retries = @topic.retries
          check(RETRIES, retries, "retries ")
          check_classes(retries)
          first = retries.pause_timeout
          most = retries.pause_max_timeout
          return unless first.is_a?(Numeric) && most.is_a?(Numeric) && first > most

          report("retries pause_timeout (#{first} s) must not be longer than pause_max_timeout (#{most} s)")
        end

        def check_classes(retries)
          {non_retryable: retries.non_retryable, transient: retries.transient}.each do |name, classes|
            wrong = classes.reject { |one| one.is_a?(Class) ? one <= Exception : one.is_a?(Module) }
            report("retries #{name} takes classes of errors, not #{wrong.map(&:inspect).join(", ")}") unless wrong.empty?
          end
          if retries.non_retryable.any? && @topic.dead_letter_queue.nil?
            report("retries non_retryable needs a dead_letter_queue: without one a message is retried until it succeeds")
          end
          both = retries.non_retryable & retries.transient
          report("retries has #{both.join(", ")} as non_retryable and as transient") if both.any?
          check_transient(retries.transient & [StandardError, Exception])
        end

        # Whatever a consumer raised would be retried for ever.
        def check_transient(all)
          return if all.empty? || @topic.dead_letter_queue.nil?

          report("retries transient: #{all.first} takes every error for an outage, so that nothing reaches the dead_letter_queue; " \
                 "name the classes that your clients raise in an outage")
        end

        def check_dead_letter_queue
          queue = @topic.dead_letter_queue or return
          check(DEAD_LETTER_QUEUE, queue, "dead_letter_queue ")
          takes("dead_letter_queue strategy", queue.strategy, 2) if queue.strategy.respond_to?(:call)
        end

        def check_retry_topics
          retries = @topic.retry_topics or return
          check(RETRY_TOPICS, retries, "retry_topics ")
          report("retry_topics needs a dead_letter_queue: what comes after the last one") unless @topic.dead_letter_queue
        end

        # Offsets are committed before the work is done: there is nothing left to retry, to mark or to set aside.
        def check_delivery
          return unless @topic.delivery == :at_most_once

          report("delivery :at_most_once cannot be transactional: offsets are committed before consume is called") if @topic.transactional
          report("delivery :at_most_once cannot have a dead_letter_queue: a message that fails is not retried") if @topic.dead_letter_queue
          return unless @topic.manual_offset_management == true

          report("delivery :at_most_once cannot have manual_offset_management: offsets are committed before consume is called")
        end
      end
    end
  end
end
