# frozen_string_literal: true

require "forwardable"
require_relative "../messages/batch"
require_relative "backlog"
require_relative "consumers"
require_relative "progress"
require_relative "forwarding"
require_relative "lag"
require_relative "inbox"
require_relative "reports"
require_relative "run"
require_relative "seek"
require_relative "snapshot"
require_relative "transactions"

module Guildhall
  module Kafka
    # One partition for the time of its assignment: ties together what was read of it and waits ({Inbox}), what
    # is done ({Progress}), its consumers ({Consumers}), the batch in work ({Run}), and how far it is behind
    # ({Partition::Lag}). It is run by one runner at a time; when it has nothing to do, it costs nothing.
    class Partition
      extend Forwardable

      # It has messages left, and has not moved from a position: since when that is known (of the {Clock}), and what was tried.
      # @api private
      Stall = Data.define(:position, :since, :tried)

      # The name is the topic's.
      attr_reader :topic, :name, :number, :runtime, :reports, :decoding, :inbox, :progress, :forwarding
      # @return [Time, nil] the timestamp of the message that was read last
      attr_reader :newest_time
      # @return [Boolean] whether the broker has said that there is no such topic
      attr_writer :missing
      # @return [KafkaError, nil] why the broker does not let it be read; nil: it has been read since
      attr_accessor :denied

      def_delegators :@backlog, :queue=
      def_delegators :@inbox, :notify, :paused?, :working?, :release, :leave
      def_delegator :@inbox, :wait_left, :wait
      def_delegators :@progress, :read_to, :store
      def_delegators :@lag, :end_offset, :idle_behind?, :inquire
      # @!method lag
      #   @return [Integer, nil] messages that are not done; nil while that is not known
      def_delegator :@lag, :messages, :lag
      def_delegator :@lag, :measure, :measure_lag
      def_delegators :@run, :attempt, :collapsed?, :parked_keys
      def_delegators :@monitor, :synchronize

      def initialize(topic, name, number, listener, runtime)
        @topic = topic
        @name = name
        @number = number
        @listener = listener
        @runtime = runtime
        @decoding = runtime.decoding(topic)
        @missing = false
        @denied = @newest_time = @stall = nil
        @assigned_at = Clock.now
        @monitor = Monitor.new
        @reports = Reports.new(self)
        @backlog = Backlog.new(runtime.backpressure, topic, runtime.config)
        store = topic.assigned ? NoOffsetStore.new : OffsetStore.new(listener.client, name, number)
        # At most once: what is committed ahead is not done yet.
        manual = topic.manual_offset_management || topic.delivery == :at_most_once
        @progress = Progress.new(store, manual:, parking: !topic.ordering.nil?)
        @transactions = Transactions.new(self, listener.client) if topic.transactional
        @inbox = Inbox.new(@backlog, runtime.timer, runtime.runners, self)
        @lag = Lag.new(self, listener)
        @seek = Seek.new(self, listener)
        @forwarding = Forwarding.new(self)
        @consumers = Consumers.new(self)
        @run = Run.new(self, @consumers)
      end

      def place = {topic: @name, partition: @number}

      # What the reader has read. Called by the listener; does not block.
      # @param bytes [Integer] of their payloads
      # @param decoded [Boolean, nil] whether the reader has decoded them, as far as they can be
      def deliver(records, bytes, decoded = nil)
        return unless @inbox.takes?

        @missing = false
        @denied = nil
        most = @backlog.max_messages
        return accept(records, bytes, decoded) if records.size <= most

        # Two parts came at once: more may be allowed while the reader still takes.
        (0...records.size).step(most) do |first|
          part = records[first, most]
          accept(part, part.first.class.bytes(part), decoded)
        end
      end

      # (see Consumer#statistics)
      def statistics = @listener.answers.of(@name, @number)

      # Lets the reader take this partition's messages.
      def begin
        @transactions&.open
        follow_quiet
      end

      # (see Transactions#run)
      def transaction(&)
        raise Guildhall::ArgumentError, "topic #{@name} has no transactions: add `transactional` to its route" unless @transactions

        @transactions.run(&)
      end

      # @return [Dispatches::Blocked, nil] nil: what it sends to other topics arrives
      def blocked = [@run.blocked, @forwarding.blocked].compact.min_by(&:since)

      def ticks? = @topic.consumer.instance_method(:tick).owner != Consumer

      # Runs what is next. Called by a runner.
      def run
        job, argument = @inbox.next_job
        case job
        when :consume then pending = @run.consume(argument)
        when :event then @consumers.dispatch(*argument)
        when :leave then give_up(argument)
        end
      ensure
        release unless pending
      end

      # Ends with {#resume} for the same reason, or its time, whatever else the partition rests for.
      # @param reason [Symbol] :user (its consumer's) or :command
      # @return [Boolean, nil] nil: it is given up
      def pause(seconds, reason = :user)
        return if @inbox.leaving?

        @reports.publish("partition.paused", seconds:) # first, for the time may be over at once
        @inbox.pause(reason, seconds) { @reports.publish("partition.resumed") }
      end

      # Any thread.
      # @return [Boolean] whether it was paused for this reason
      def resume(reason = :user)
        @inbox.resume(reason).tap { |paused| @reports.publish("partition.resumed") if paused }
      end

      # The next attempt comes now: of what the partition backs off for, and of its parked keys. Any thread.
      # @return [Array(Boolean, Integer)] whether it has backed off, and how many keys have waited
      def retry_now = [@inbox.resume(:backoff), parked_keys&.hurry || 0]

      # No new work while the application is quiet. Any thread.
      def follow_quiet
        if (quiet = @runtime.quiet?)
          @reports.publish("partition.paused", seconds: nil) if @inbox.pause(:quiet)
        elsif @inbox.resume(:quiet)
          @reports.publish("partition.resumed")
        end
        follow_quiet unless @runtime.quiet? == quiet # another thread has changed it, and may have been here before
      end

      # What was read already is dropped, and what was said of it no longer counts.
      # @param from [Integer, nil] only if {#position} is this one
      # @raise [SeekError] where it is another
      def seek(target, from: nil)
        Group::Client.validate_seek_target!(target)
        @seek.start(target) { @progress.rewind(from).tap { |generation| parked_keys&.renew(generation) } }
      end

      # The first offset that is not done. Blocks for the broker's answer where nothing was begun yet.
      # @return [Integer, nil] nil: not known
      def position = @progress.next || (@listener.client.start_of(@name, @number) unless @topic.assigned)

      # @return [Boolean] whether {#seek} was called
      def sought? = @progress.generation.positive?

      # Seeks to where it was read to: for a stalled partition.
      def read_on(offset) = @seek.start(offset)

      # What is not marked is delivered again, from the first that is not.
      def go_back(offset)
        @progress.forget_unmarked
        read_on(offset) unless @inbox.leaving?
      end

      # @return [Float, nil] seconds that its work has made no progress for: no message was marked, no call of a consumer has returned;
      #   nil: it has no work
      def seconds_without_progress
        since = @inbox.busy_since
        Clock.now - [since, @progress.progressed_at].max if since
      end

      # @param seconds [Float, nil] as {#seconds_without_progress}
      # @return [Boolean] whether that is longer than `config.max_consume_time`
      def overdue?(seconds = seconds_without_progress)
        limit = @runtime.config.max_consume_time
        !limit.nil? && !seconds.nil? && seconds > limit
      end

      # Called by {Runtime::Watchdog}.
      # @param action [Symbol] what is tried now: :seek or :rejoin
      def stalls(position, action)
        @stall = Stall.new(position:, since: stall&.since || Clock.now, tried: [*stall&.tried, action].freeze)
      end

      # @return [Stall, nil] nil: it has not stalled, or has moved since
      def stall = @stall&.then { |stall| stall if stall.position == read_to }

      # Leaves the group and rejoins it, with all partitions of this client: once for all that ask for it together.
      def rejoin = @listener.request { raise StalledPartitionError, "#{self} is stalled; rejoining the group" unless @inbox.leaving? }

      def revoked? = @inbox.leaving == :revoked || @progress.closed?
      def stopping? = @inbox.leaving == :shutdown

      # @return [Boolean] whether a seek, or the partition's end, has made it void what messages of a generation come to
      def void?(generation) = @inbox.leaving? || @progress.void?(generation)

      # Offsets that come later are not stored.
      def close
        @seek.close
        @progress.close(dismiss: @missing)
        @transactions&.close
        @backlog.close
      end

      def to_s = "#{@name}/#{@number}"

      # What it does now, and why. Any thread; takes each of its locks for a moment, asks no broker.
      # @return [Snapshot]
      def snapshot
        Snapshot.of(partition: self, inbox: @inbox.view, progress: @progress.view, attempts: @run.attempts, keys: parked_keys,
          transactions: @transactions&.view, lag: @lag.view, member: @listener.number, assigned_at: @assigned_at)
      end

      def inspect = "#<#{self.class} #{self} #{snapshot}>"

      private

      def give_up(reason)
        parked_keys&.close
        @consumers.leave(reason)
      ensure
        @inbox.end_leaving
      end

      def accept(records, bytes, decoded)
        last = records.last
        @newest_time = last.timestamp
        generation = @progress.read(records.first.offset, last.offset + 1)
        results = @decoding.begin(records, self, decoded)
        @inbox.push(Messages::Batch.new(records, results, @topic, bytes:, generation:))
      end
    end
  end
end
