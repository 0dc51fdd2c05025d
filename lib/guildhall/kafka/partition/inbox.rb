# frozen_string_literal: true

require "guildhall/clock"

module Guildhall
  module Kafka
    class Partition
      # What a partition has to do next, and whether it may: its batches, its events, its state and its pauses. Hands out one
      # job at a time. Three threads meet here: the listener delivers batches and takes the partition away, a runner works, the timer
      # ends pauses. The lock is never held while foreign code runs.
      #
      # Where the partition is in its life; messages are taken and worked on in :assigned only:
      #
      #     :assigned ⇄ :seeking
      #         ↓           ↓
      #     :leaving (:revoked or :shutdown) → :left
      #
      # It rests while there is any reason. Each has an end of its own, so that a user's pause outlasts a back-off, and quiet both:
      #
      #     :user         | {Consumer#resume}, or the time that {Consumer#pause} was given
      #     :command      | its time, or a command ({Commanding})
      #     :backoff      | its time
      #     :filter       | the time that a filter has asked for
      #     :keys         | a parked key makes progress
      #     :dead_letters | the brokers have the dead letters
      #     :forwarding   | the brokers have what a consumer sends on
      #     :quiet        | {Runtime#resume}
      # @api private
      class Inbox
        # A reason to rest: since when, until when (times of the {Clock}; nil: it has no such time), and the alarm for that.
        Rest = Struct.new(:since, :until, :alarm)
        SUSPENDING = %i[user command quiet].freeze # parked keys are not tried either
        private_constant :Rest, :SUSPENDING

        # What {Snapshot} has of it, of one moment: state, working and busy_since as here; rests: since and until when, by reason;
        # messages: how many are in memory; thread: the runner that works, nil: none does, or it tries parked keys.
        View = Data.define(:state, :rests, :working, :busy_since, :messages, :thread)

        # @return [Symbol, nil] :revoked or :shutdown, the first that was said; nil: it is not given up
        attr_reader :leaving
        # @return [#run] what runners run when parked keys are to be tried
        attr_writer :key_retries

        # @param job [#run] the partition: a runner calls it when there is work
        def initialize(backlog, timer, runners, job)
          @lock = Mutex.new
          @on_left = ConditionVariable.new
          @state = :assigned
          @leaving = nil
          @rests = {} # by their reasons
          @timer = timer
          @batches = backlog
          @events = []
          @runners = runners
          @job = job
          @runner = :none # :none → :called → :working
          @called_at = @thread = nil
          @key_retry_since = nil # since when a runner tries parked keys, or is called for it
          @key_retry_wanted = false
          @key_retries = nil
          @sending = 0 # threads that send messages to other topics, for {Dispatches}
        end

        # Parked keys are due: one runner tries them, beside the one that works on batches, unless the partition is suspended.
        def request_key_retry = update { @key_retry_wanted = true }

        # That runner has done a message; whether there is more, `again` says.
        def key_retry_ended(again:)
          update do
            @key_retry_since = nil
            @key_retry_wanted ||= again
          end
        end

        # A thread of {Dispatches} sends messages to another topic. The partition is not left before that thread has ended.
        # @return [Object, nil] nil: it is given up, and they are not sent
        def begin_sending = update { @sending += 1 unless leaving? }
        def end_sending = update { @sending -= 1 }

        def push(batch) = update { @batches << batch if takes? }

        # An event for the consumer, delivered when it is free: :tick, :eofed, or with arguments `[:periodic, index]`.
        def notify(event) = update { @events << event unless @events.include?(event) }

        # @return [Array(Symbol, Object), nil] a job and its argument; nil: there is nothing to do
        def next_job
          @lock.synchronize do
            next unless work?

            @runner = :working
            @thread = Thread.current
            next [:leave, @leaving] if leaving?

            @events.any? ? [:event, @events.shift] : [:consume, @batches.first]
          end
        end

        def release
          update do
            @runner = :none
            @thread = nil
          end
        end

        def finish(batch) = update { @batches.shift if @batches.first.equal?(batch) }

        # Parts of the batch in work take its place.
        # @return [Object, nil] nil: a seek, or the partition's end, has made it void
        def replace(batch, parts) = update { @batches.replace_first(parts) if @batches.first.equal?(batch) }

        # Whether messages are taken on, be it to wait.
        def takes? = @state == :assigned

        # What waits is void, and nothing is taken until {#sought}. Calls the block first, with the lock held: what it raises keeps all as
        # it was.
        def seek
          update do
            yield
            @state = :seeking unless leaving?
            %i[filter keys dead_letters forwarding].each { |reason| end_rest(reason) } # what it waits for is void
            @key_retry_wanted = false
            @batches.clear
          end
        end

        # @yieldreturn [Boolean] whether this was the last seek; with the lock held
        def sought = update { @state = :assigned if yield && @state == :seeking }

        # No new work; the consumer is notified once the work in progress is done. Does not block. The listener waits for it, and so not
        # behind jobs of other partitions.
        def leave(reason)
          update do
            @state = :leaving unless leaving?
            @leaving ||= reason
            @batches.clear
            @rests.keys.each { |rested| end_rest(rested) }
            @runners.hurry(@job) if @runner == :called
            @runners.hurry(@key_retries) if @key_retry_since
          end
        end

        def leaving? = !@leaving.nil?

        def end_leaving
          update do
            @state = :left
            @on_left.broadcast
          end
        end

        # Blocks until the consumer was notified, or until a time of the {Clock}.
        # @return [Boolean] false when it is still at work
        def wait_left(deadline)
          @lock.synchronize do
            @on_left.wait(@lock, Clock.left(deadline)) until @state == :left || Clock.now >= deadline
            @state == :left
          end
        end

        # Takes the place of an earlier pause for this reason. Without seconds it lasts until {#resume}.
        # @yield called by the timer, without the lock, where its time has ended it
        # @return [Boolean, nil] whether it was not paused for this reason before; nil: it is given up
        def pause(reason, seconds = nil, &)
          update do
            next if leaving?

            paused = @rests.key?(reason)
            rest(reason, seconds, &)
            !paused
          end
        end

        # The batch in work makes the partition rest, unless a seek, or the partition's end, has made it void.
        # @return [Object, nil] this pause, for {#resume}; nil: it is void
        def pause_for(batch, reason, seconds = nil) = update { rest(reason, seconds) if @batches.first.equal?(batch) }

        # @param rest [Object] only this pause, which {#pause_for} has returned, not a later one
        # @return [Boolean] whether it was paused for this reason
        def resume(reason, *rest) = update { end_rest(reason, *rest) }

        def paused? = @lock.synchronize { resting? }

        # Whether parked keys are not tried either.
        def suspended? = @lock.synchronize { suspending? }

        # Whether a runner has a job of this partition: messages, an event, or its end.
        def working? = @runner == :working || !@key_retry_since.nil?

        # @return [Float, nil] of the {Clock}: since when a runner has a job of this partition, or is waited for; nil: neither
        def busy_since = [(@called_at unless @runner == :none), @key_retry_since].compact.min

        # Whether nothing is to be done without a request for it.
        def idle? = @lock.synchronize { open? && @runner == :none && @batches.empty? }

        # @return [Array<Record>, nil] of the batch that is in work, or is next
        def records = @lock.synchronize { @batches.first&.records }

        # @return [View]
        def view
          @lock.synchronize do
            View.new(state: @state, working: working?, busy_since:, messages: @batches.messages, thread: @thread,
              rests: @rests.transform_values { |rest| [rest.since, rest.until].freeze }.freeze)
          end
        end

        private

        # All changes: returns what the block does, and allows the reader and calls a runner as state and pauses permit then.
        def update = @lock.synchronize { yield.tap { arrange } }

        # With the lock held, as all below.
        def arrange
          @batches.allow(open?, resting?)
          if @key_retry_wanted && !@key_retry_since && takes? && !suspending?
            @key_retry_since = Clock.now
            @key_retry_wanted = false
            @runners.push(@key_retries)
          end
          return unless @runner == :none && work?

          @runner = :called
          @called_at = Clock.now
          @runners.push(@job, urgent: leaving?)
        end

        def rest(reason, seconds, &ended)
          end_rest(reason)
          now = Clock.now
          rest = @rests[reason] = Rest.new(now, seconds && (now + seconds))
          rest.alarm = @timer.after(seconds) { ended&.call if resume(reason, rest) } if seconds
          rest
        end

        def end_rest(reason, rest = @rests[reason])
          return false unless rest && @rests[reason].equal?(rest)

          @rests.delete(reason)
          @timer.cancel(rest.alarm)
          true
        end

        def resting? = !@rests.empty?
        def suspending? = !@rests.empty? && SUSPENDING.any? { |reason| @rests.key?(reason) }

        # Whether messages are worked on.
        def open? = takes? && !resting?

        def work?
          return @state != :left && !@key_retry_since && @sending.zero? if leaving?

          @events.any? || (open? && !@batches.empty?)
        end
      end
    end
  end
end
