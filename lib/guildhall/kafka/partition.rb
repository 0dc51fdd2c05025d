# frozen_string_literal: true

require_relative "offsets"
require_relative "backoff"
require_relative "batch"
require_relative "dead_letters"
require_relative "partition/backlog"
require_relative "partition/work"
require_relative "partition/control"
require_relative "partition/behind"
require_relative "partition/virtually"

module Guildhall
  module Kafka
    # One partition for the time of its assignment: what was read of it and waits, its consumer, and what it does next.
    # It is run by one runner at a time; when it has nothing to do, it costs nothing.
    #
    # Three threads meet here: the listener delivers records and takes the partition away, a runner works, the timer
    # ends pauses. `@lock` guards the state; it is never held while foreign code runs.
    class Partition
      include Work
      include Control
      include Behind
      include Virtually

      # Batches that may wait behind the one in work. More would only make them smaller: what is left in librdkafka's
      # queue meanwhile comes as a bigger batch.
      AHEAD = 2

      # @return [Routing::Topic]
      attr_reader :topic
      # @return [String] the topic's name
      attr_reader :name
      # @return [Integer]
      attr_reader :number
      # @return [Offsets]
      attr_reader :offsets
      # @return [#codec, #begin] how payloads are decoded
      attr_reader :decoding
      # @return [#allow, #close, nil] the reader's queue
      attr_accessor :queue
      # @return [Boolean] whether the broker has said that there is no such topic
      attr_writer :missing

      # @param topic [Routing::Topic]
      # @param name [String]
      # @param number [Integer]
      # @param listener [Listener]
      # @param application [Application]
      def initialize(topic, name, number, listener, application)
        @topic = topic
        @name = name
        @number = number
        @listener = listener
        @application = application
        @decoding = application.decoding(topic)
        @offsets = Offsets.new(listener.client, name, number)
        @backoff = Backoff.new(application.config, topic.retries)
        @dead_letters = DeadLetters.for(topic, application)
        @max_messages = topic.max_messages || application.config.max_messages
        @max_bytes = topic.max_bytes || application.config.max_bytes
        start
      end

      # What the reader has read; dispatches it. Called by the listener; does not block.
      # @param records [Array<Record>]
      # @param bytes [Integer] of their payloads
      # @param documents [Array<Object, nil>, nil] what the reader has decoded of each; nil: it has not tried
      # @return [void]
      def deliver(records, bytes, documents = nil)
        return if @leaving || @seek

        @missing = false
        return accept(records, bytes, documents) if records.size <= @max_messages

        # What came before the partition had a queue of its own came without a limit.
        (0...records.size).step(@max_messages) do |first|
          some = records[first, @max_messages]
          accept(some, some.first.class.bytes(some), documents && documents[first, @max_messages])
        end
      end

      # Lets the reader take this partition's messages.
      # @return [void]
      def begin
        load_done_ranges if @shares
        change { nil }
      end

      # @return [Boolean] whether its consumer wants to be called periodically
      def ticks?
        @topic.consumer.instance_method(:tick).owner != Consumer
      end

      # Something that the consumer is to be told when it is free.
      # @param event [Symbol] :tick or :eofed
      # @return [void]
      def notify(event)
        change { @events << event unless @events.include?(event) || @leaving }
      end

      # @return [Boolean] whether its consumer is called now
      def working?
        !@running.nil?
      end

      # @return [String]
      def to_s
        "#{@name}/#{@number}"
      end

      # @return [String] what it is doing
      def inspect
        state = @leaving || (@running ? :working : resting? ? :paused : :waiting)
        "#<#{self.class} #{self} #{state}, #{@batches.size} batches, done up to #{@offsets.following.inspect}, attempt #{@failures + 1}>"
      end

      # Runs what is next. Called by a runner.
      # @return [void]
      def run
        job, argument = @lock.synchronize { next_job }
        pending = job && perform(job, argument) == :pending
      ensure
        release unless pending
      end

      private

      def accept(records, bytes, documents)
        anew = @position && records.first.offset < @position
        note_read(records)
        batch = Batch.new(records, @decoding.begin(records, self, documents), bytes:, filtering: @topic.filtering?, anew:)
        change { @batches << batch unless @leaving || @seek }
      end

      # The partition may be run again.
      def release
        @lock.synchronize do
          @running = nil
          @scheduled = false
          schedule
        end
      end

      def start
        @lock = Mutex.new
        @left_condition = ConditionVariable.new
        @mutex = Monitor.new
        @batches = Backlog.new(@application.in_flight)
        @events = []
        @failures = 0
        @scheduled = @left = @missing = false
        @seats = {}
        @collapsed = @unread = false
        @shares = @topic.virtual_partitions && Virtual::Shares.new(@topic, @application.config.concurrency)
        @leaving = @seek = @paused_until = @wake_up = @consumer = @running = nil
        @last_consumed = @position = @failed_at = @first_offset = @newest_time = nil
        @caught_up_at = Time.now
        @paused_until = Float::INFINITY if @application.quiet?
      end

      def change
        @lock.synchronize do
          result = yield
          schedule
          result
        end
      end

      # With the lock held.
      def schedule
        @batches.aside = resting?
        @queue&.allow(room, @max_bytes)
        return if @scheduled || !work?

        @scheduled = true
        @application.runners.push(self, urgent: !@leaving.nil?)
      end

      def room
        return 0 if @leaving || @seek || resting?

        @batches.size <= AHEAD ? @max_messages : 0
      end

      def work?
        return !@left if @leaving

        !@events.empty? || (!@batches.empty? && !@seek && !resting?)
      end

      def next_job
        return ([:leave, @leaving] unless @left) if @leaving
        return [:event, @events.shift] unless @events.empty?
        return if @batches.empty? || @seek || resting?

        [:consume, @running = @batches.first]
      end

      def resting?
        !@paused_until.nil? && Clock.now < @paused_until
      end
    end
  end
end
