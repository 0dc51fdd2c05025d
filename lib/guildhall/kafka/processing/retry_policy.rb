# frozen_string_literal: true

require_relative "backoff"
require_relative "contention"
require_relative "error_kind"

module Guildhall
  module Kafka
    module Processing
      # Decides what follows when a consumer has raised, and is the only place that counts attempts. Attempts belong to the
      # first message that is not done: when that one changes, they start again at 1. Used by one runner at a time.
      class RetryPolicy
        # @!attribute [r] action
        #   @return [Symbol] :retry; :isolate, to find the message that fails; :dispatch or :skip that message; :dispatch_all
        # @!attribute [r] seconds
        #   @return [Float, nil] the pause before the next attempt
        Decision = Data.define(:action, :seconds)

        # Strategies may answer these.
        ANSWERS = %i[dispatch skip retry].freeze

        # @param topic [Routing::Topic]
        # @param config [Config]
        # @param place [String] whose messages: the partition
        # @param contention [Contention] the application's
        def initialize(topic, config, place = topic.to_s, contention = Contention.new)
          @topic = topic
          @place = place
          @contention = contention
          @contended = [] # places of messages that have failed with contention, and were not consumed since
          @queue = topic.dead_letter_queue
          @backoff = Backoff.new(config, topic.retries)
          restart(nil)
        end

        # @return [Integer] how often the first message that is not done has failed, alone or with others
        attr_reader :failures
        # @return [Integer] how often it has failed alone
        attr_reader :failures_alone

        # @param at [Object] what identifies the first message that is not done
        # @return [Integer] 1 at first
        def attempt(at)
          at == @at ? @failures + 1 : 1
        end

        # @param error [Exception]
        # @param at [Object] as for {#attempt}
        # @param alone [Boolean] whether no other message can be the cause
        # @param isolating [Boolean] whether the retries of this batch were spent before
        # @return [Decision]
        def failed(error, at:, alone:, isolating: false)
          return uncounted if passing?(error, at)

          count(alone)
          action = @queue ? decide(error, alone, isolating) : :retry
          Decision.new(action:, seconds: (pause(alone) if action == :retry))
        end

        # If any of several messages can be the cause, and it cannot be found out which: they are tried until they work.
        # @return [Decision]
        def failed_with_others(error, at:)
          return uncounted if passing?(error, at)

          count(false)
          Decision.new(action: :retry, seconds: pause(false))
        end

        # Messages were consumed, the first of those that are left excepted.
        # @param at [Object, nil] as for {#attempt}; nil: all
        # @return [void]
        def progress(at)
          @contention.consumed(@topic)
          over = @contended - [place(at)]
          return if over.empty?

          @contention.over(over)
          @contended -= over
        end

        # What says nothing about a message: a consumer that has marked nothing and asks for redelivery.
        # @return [Decision]
        def postponed(at)
          restart(at) unless at == @at
          uncounted
        end

        # The strategy of the dead letter queue has raised.
        # @return [Decision]
        def undecided(at)
          restart(at) unless at == @at
          Decision.new(action: :retry, seconds: @backoff.seconds([@failures, 1].max))
        end

        private

        # Whether it is no attempt: an outage, or contention while the message is not taken for its cause.
        def passing?(error, at)
          restart(at) unless at == @at
          return false if non_retryable?(error)

          case ErrorKind.of(error, @topic)
          when :outage then true
          when :contention then contended(at) < @topic.retries.contention_limit
          else false
          end
        end

        def contended(at)
          @contended |= [place(at)]
          @contended.shift if @contended.size > Contention::MAX_SUSPECTS + 1 # more say no more
          @contention.note(place(at), @topic)
        end

        # The offset alone: the same message may be read again.
        def place(at) = [@topic.group, @place, [*at].last]

        def restart(at)
          @at = at
          @failures = @failures_alone = @uncounted = 0
        end

        def count(alone)
          @failures += 1
          @failures_alone += 1 if alone
          @uncounted = 0
        end

        def uncounted
          @uncounted += 1
          Decision.new(action: :retry, seconds: @backoff.seconds(@uncounted))
        end

        def pause(alone)
          @backoff.seconds(counted(alone))
        end

        def counted(alone)
          alone ? @failures_alone : @failures
        end

        def decide(error, alone, isolating)
          return :isolate if isolating && !alone

          answer = answer(error, counted(alone))
          return answer if answer == :retry
          return :dispatch_all if @queue.strategy == :all

          alone ? answer : :isolate
        end

        def answer(error, attempt)
          return asked(error, attempt) if @queue.strategy.respond_to?(:call)

          non_retryable?(error) || attempt > @queue.max_retries ? :dispatch : :retry
        end

        def asked(error, attempt)
          answer = @queue.strategy.call([error], attempt)
          return answer if ANSWERS.include?(answer)

          raise StrategyError, "the strategy of the dead letter queue has to answer :dispatch, :skip or :retry, not #{answer.inspect}"
        end

        def non_retryable?(error)
          @topic.retries.non_retryable?(error) || (@queue&.dispatch_undecodable && error.is_a?(UndecodableMessageError))
        end
      end
    end
  end
end
