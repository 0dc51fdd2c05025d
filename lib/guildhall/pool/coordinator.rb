# frozen_string_literal: true

module Guildhall
  class Pool
    # Supervises the workers of a pool in a thread of its own. It sleeps until it is called: by a worker that leaves, by a
    # batch with a deadline or a listener, by a line of the log. No payload and no result waits for it, and if it is killed
    # whoever waits next starts it again.
    class Coordinator
      SHORTEST_PAUSE = 0.002
      LAST_LOOK = 0.1
      private_constant :SHORTEST_PAUSE, :LAST_LOOK

      # @return [Crew]
      attr_reader :crew

      # @return [Breaker]
      attr_reader :breaker

      # @param settings [Settings]
      # @param instrumentation [Instrumentation]
      # @param notifier [Notifier] told when batches are complete
      def initialize(settings, instrumentation, notifier)
        @settings = settings
        @instrumentation = instrumentation
        @notifier = notifier
        @log = Log.new
        @crew = Crew.new(settings.capacity, @log)
        @breaker = Breaker.new(deaths: settings.breaker_deaths, window: settings.breaker_window, pause: settings.breaker_pause)
        @workers = settings.workers
        @closing = @started = false
        @shortest_deadline = nil
        @lock = Mutex.new
      end

      # @return [Integer] how many there should be
      attr_reader :workers

      # @return [Boolean] whether there are or may be workers
      def any_workers?
        @workers.positive? && !@breaker.open? && @crew.abandoned.size < @settings.max_abandoned + @workers
      end

      # Starts workers and thread where they are missing. Cheap where they are not; called at every parallel dispatch.
      def ensure_running
        return if @closing || (@thread&.alive? && @crew.queue.seated.positive?)

        @lock.synchronize do
          next if @closing

          @started = true
          fill_up
          @thread = start unless @thread&.alive?
        end
      end

      # Brings the thread back if something has killed it.
      def supervise
        ensure_running if @started && !@thread&.alive?
      end

      # @param count [Integer]
      def resize(count)
        @workers = count
        @crew.resize(target) if @started
      end

      # @param seconds [Numeric] that one payload of a batch now in line may take
      def expect_within(seconds)
        @lock.synchronize { @shortest_deadline = [@shortest_deadline, seconds].compact.min }
        @crew.queue.call
      end

      # Ends workers and thread. Returns in time, whatever they do.
      # @param timeout [Numeric] seconds
      # @return [Boolean] whether all of them have ended
      def stop(timeout)
        limit = Clock.now + timeout
        @closing = true
        @crew.close
        ended = @crew.wait_until_empty(limit)
        @crew.retire_all
        @thread&.join(Clock.left(limit, least: 0.001))
        Thread.new { care }.join(Clock.left(limit, least: LAST_LOOK)) # a logger may block, but not the shutdown
        ended
      end

      private

      def start
        Thread.new { Thread.handle_interrupt(Object => :immediate) { watch } }.tap do |thread|
          thread.name = "guildhall coordinator"
          thread.priority = 3
        end
      end

      def watch
        pause = 0
        until @closing && @crew.members.empty?
          @crew.queue.attend(pause)
          pause = carefully
        end
      end

      # One fault of ours must not leave the workers alone.
      def carefully
        care
      rescue StandardError => error
        warn("guildhall: the coordinator goes on after #{error.class}: #{error.message} (#{error.backtrace&.first})")
        0.1
      end

      # @return [Numeric, nil] when to look again, in seconds; nil: when called
      def care
        @crew.each_left { |member| recover(member) }
        pause = abandon_the_stuck
        fill_up unless @closing
        report_slices if @instrumentation.listening?
        @log.drain(@settings.logger)
        @notifier.look(@crew.members.empty?)
        pause
      end

      def fill_up
        @crew.resize(target)
      end

      # Ractors cannot be killed: those that are stuck still use a core each.
      def target
        return 0 if @breaker.open?

        [@workers - [@crew.abandoned.size - @settings.max_abandoned, 0].max, 0].max
      end

      # What the worker had finished is published; what it had not begun goes back in line; what it died with runs once
      # more, and fails the second time.
      def recover(member)
        _, index, last_chance = member.seat.victim
        member.seat.recover(index && (last_chance || @closing || @breaker.open?) ? Failure.deadly(index) : nil)
        return if member.retired || @closing

        opened = @breaker.died
        @instrumentation.publish("pool.worker_died", index:, worker: member.number)
        open_breaker if opened
      end

      def open_breaker
        pause = @settings.breaker_pause
        @instrumentation.publish("pool.breaker_opened", deaths: @settings.breaker_deaths, pause:)
        message = "guildhall: #{@settings.breaker_deaths} workers died within #{@settings.breaker_window} s; " \
                  "for #{pause} s the pool's work is done by its callers"
        @settings.logger ? @settings.logger.error(message) : warn(message)
      end

      def abandon_the_stuck
        return unless @shortest_deadline

        nearest = @crew.members.filter_map { |member| look_at(member) }.min
        @lock.synchronize { @shortest_deadline = nil if @crew.queue.inflight.zero? } # not one that was expected just now
        [[nearest, @shortest_deadline].compact.min || SHORTEST_PAUSE, SHORTEST_PAUSE].max
      end

      # @return [Numeric, nil] seconds until the worker's payload is overdue
      def look_at(member)
        index, late, since = member.seat.overdue
        return -late if late && late <= 0
        return unless late

        error = StuckError.new("still running #{late.round(3)} s after its deadline; its worker was given up")
        abandon(member, index) if @crew.give_up(member, index, since, Failure.of(error, index))
        nil
      end

      def abandon(member, index)
        @instrumentation.publish("pool.worker_abandoned", index:, worker: member.number, abandoned: @crew.abandoned.size)
      end

      def report_slices
        @crew.members.each do |member|
          member.seat.new_slices.each do |first, payloads, seconds|
            @instrumentation.publish("pool.slice_finished", worker: member.number, first:, payloads:, seconds:)
          end
        end
      end
    end
  end
end
