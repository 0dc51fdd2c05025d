# frozen_string_literal: true

require_relative "../virtual/seat"
require_relative "../virtual/round"
require_relative "../virtual/shares"
require_relative "../virtual/done_ranges"

module Guildhall
  module Kafka
    class Partition
      # One partition worked on by several runners. A batch is one round: its shares run side by side; the next one begins
      # when all have ended. Where a consumer raises, what is left of the batch is consumed by one consumer in order
      # ("collapsed"), so that the message that fails can be found, retried and buried.
      module Virtually
        # @return [Boolean] whether the partition is consumed in order, because of a failure, although it is virtual
        def collapsed?
          @collapsed
        end

        # @!visibility private
        def told(error, messages)
          @application.error(error, "consumer.consume", topic: @name, partition: @number, attempt:,
            offset: messages.current&.offset || messages.first_offset)
        end

        # Called by the runner that ends a round.
        # @!visibility private
        def round_ended(round)
          round.batch.leave_out(round.done)
          round.error ? collapse : finish(round.batch)
        ensure
          release
        end

        private

        def virtual?
          @shares && !@collapsed
        end

        # @return [:pending] the runner is free for others meanwhile
        def begin_round(batch, messages)
          shares = @shares.deal(messages, batch)
          @last_consumed = messages.last_offset
          round = Virtual::Round.new(batch, shares.values, self)
          jobs = shares.map { |place, share| seat(place).prepare(round, share) }
          jobs.each { |job| @application.runners.push(job) }
          :pending
        end

        def seat(place)
          @seats[place] ||= Virtual::Seat.new(self)
        end

        def collapse
          @failures += 1
          @collapsed = true
          rest(@backoff.seconds(@failures)) unless @leaving
        end

        # What another member, or this one before a restart, has done behind the committed offset.
        def load_done_ranges
          @done_before = []
          offset, metadata = @listener.client.committed(@name, @number)
          @done_before = Virtual::DoneRanges.load(offset, metadata) if offset
        rescue Rdkafka::RdkafkaError => error
          @application.error(error, "virtual_partitions", topic: @name, partition: @number)
        end

        def leave_out_done(batch)
          return if @done_before.empty?

          batch.leave_out(batch.records.map(&:offset).select { |offset| @done_before.any? { |range| range.cover?(offset) } })
          @done_before = @done_before.reject { |range| range.last <= batch.end_offset }
        end
      end
    end
  end
end
