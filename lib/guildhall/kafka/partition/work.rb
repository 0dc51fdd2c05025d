# frozen_string_literal: true

module Guildhall
  module Kafka
    class Partition
      # What a runner does for a partition. Whatever the application's code raises ends up in {#failed}.
      module Work
        ENDED = "the consumer's thread was ended (by Thread.exit in it, or by the end of the shutdown timeout)"

        private

        def perform(job, argument)
          case job
          when :consume then consume(argument)
          when :ended then failed(TaskError.new(ENDED), *argument)
          when :event then tell(argument)
          when :leave then say_goodbye(argument)
          end
        end

        def consume(batch)
          messages = remaining(batch)
          return skip(batch) if messages.empty?
          return begin_round(batch, messages) if virtual?

          commit_beforehand(batch) if @topic.delivery == :at_most_once
          call(messages)
          @last_consumed = messages.last_offset
          finish(batch)
          nil
        rescue Exception => error # rubocop:disable Lint/RescueException -- even `exit` must not end a runner
          failed(error, batch, messages)
          nil
        ensure
          @ended = [batch, messages] if Runners.ending? # the next runner has time to deal with it
        end

        # Nothing was left of it.
        def skip(batch)
          finish(batch)
          return unless @application.listening?

          @application.publish("consumer.skipped", topic: @name, partition: @number, read: batch.records.size,
            dropped: batch.dropped, bytes: batch.bytes)
        end

        def remaining(batch)
          begin_anew if batch.begins_anew?
          batch.decode_again if @failures.positive?
          leave_out_done(batch) if @shares
          messages = batch.messages([@offsets.following || 0, batch.first_offset].max, @topic)
          return messages if messages.empty? || !@dead_letters.poison?

          @dead_letters.bury_poison(messages, batch)
          batch.messages(messages.first_offset, @topic)
        end

        # What was done before says nothing about these offsets.
        def begin_anew
          @offsets.rewind
          @done_before = []
          @last_consumed = @failed_at = nil
        end

        def call(messages)
          consumer.messages = messages
          began = Clock.now
          consumer.consume
          return unless @application.listening?

          @application.publish("consumer.consumed", topic: @name, partition: @number, size: messages.size, read: messages.read,
            dropped: messages.dropped, seconds: Clock.now - began, last_offset: messages.last_offset)
        ensure
          consumer.messages = nil
        end

        # The batch is done, unless a seek has made it void.
        def finish(batch)
          @failures = 0
          @collapsed = false
          return unless @lock.synchronize { @batches.first.equal?(batch) && @batches.shift } || @leaving
          return if @seek

          @offsets.store(batch.end_offset) if !@topic.manual_offset_management || all_marked?
        end

        # With manual marks, a batch of which nothing was left must not carry unmarked messages before it along.
        def all_marked?
          @last_consumed.nil? || @offsets.following.to_i > @last_consumed
        end

        def commit_beforehand(batch)
          @offsets.store(batch.end_offset) && @offsets.commit
        end

        def failed(error, batch, messages)
          count_failure(messages)
          @application.error(error, "consumer.consume", topic: @name, partition: @number, attempt: @failures,
            offset: messages&.current&.offset || messages&.first_offset)
          return if @leaving || @seek
          return finish(batch) if @topic.delivery == :at_most_once

          settle(error, batch, messages)
        end

        # Where attempts are independent, they are counted anew once a message has been marked since the last failure. What
        # failed before the consumer was called is no attempt at any message.
        def count_failure(messages)
          following = @offsets.following
          @failures = 0 if (messages && @unread) || (@topic.dead_letter_queue&.independent && following != @failed_at)
          @unread = messages.nil?
          @failed_at = following
          @failures += 1
        end

        def settle(error, batch, messages)
          following = messages && bury(error, batch, messages)
          return rest(@backoff.seconds(@failures)) unless following

          @offsets.store(following)
          @failures = 0
        end

        # @return [Integer, nil] the offset to go on with; nil: it is to be tried again
        def bury(error, batch, messages)
          @dead_letters.following(error, @failures, messages, batch, @offsets.following)
        rescue StandardError => error
          @application.error(error, "dead_letter_queue", topic: @name, partition: @number)
          nil
        end

        def tell(event)
          consumer if @seats.empty?
          [*@consumer, *@seats.values.map(&:consumer)].each do |one|
            one.public_send(event)
          rescue Exception => error # rubocop:disable Lint/RescueException
            @application.error(error, "consumer.#{event}", topic: @name, partition: @number)
          end
        end

        def say_goodbye(reason)
          tell(reason) if @consumer || @seats.any?
          @application.publish("consumer.#{reason}", topic: @name, partition: @number)
        ensure
          @lock.synchronize do
            @left = true
            @left_condition.broadcast
          end
        end

        def consumer
          @consumer ||= @topic.consumer.new.tap do |consumer|
            consumer.seat = self
            consumer.initialized
          end
        end
      end
    end
  end
end
