# frozen_string_literal: true

require_relative "chunk_reader"

module Guildhall
  class Pool
    # One run of a task over an input of any length: a few batches are with the workers while earlier outcomes are read.
    # @api private
    class Stream
      # A batch on its way: the position of its first payload in the input, and which of its outcomes were not delivered.
      Flight = Struct.new(:future, :offset, :left)
      MIN_AHEAD = 4 # batches on their way, where there are few workers or none
      private_constant :Flight, :MIN_AHEAD

      # See {Mapping#each}, and {Pool#dispatch} for the rest.
      def initialize(pool, payloads, task, chunk: nil, ordered: true, timeout: nil, **dispatch)
        @pool = pool
        @task = task
        @dispatch = dispatch
        @ahead = [2 * pool.settings.workers, MIN_AHEAD].max # two a worker: one runs while the other waits
        @ordered = ordered
        @timeout = timeout
        @limit = Clock.deadline(timeout)
        @reader = ChunkReader.new(payloads, chunk || 500)
        @reader.belong_to(self)
        @flights = []
        @offset = 0
      end

      # However the block is left, payloads that had not begun are cancelled.
      # @yieldparam index [Integer] its payload's place in the input
      # @raise what the source raised, after the outcomes of the payloads before
      def each(&)
        fly
        until @flights.empty?
          deliver(&) || wait
          @flights.delete_if { |flight| flight.left.empty? }
          fly
        end
        raise @reader.error if @reader.error
      ensure
        @reader.stop
        @flights.each { |flight| flight.future.cancel }
      end

      private

      # Keeps as many batches on their way as may be; waits for payloads only where nothing else is to be waited for.
      def fly
        while @flights.size < @ahead
          payloads = @reader.take(wait: @flights.empty?, timeout: time_left)
          break if payloads.nil?

          if payloads.empty?
            @flights.empty? ? time_left : break
          else
            launch(payloads)
          end
        end
      end

      def launch(payloads)
        future = @pool.dispatch(payloads, @task, **@dispatch)
        @flights << Flight.new(future, @offset, (0...payloads.size).to_a)
        @offset += payloads.size
      end

      def deliver(&)
        flights = @ordered ? @flights.first(1) : @flights
        flights.map { |flight| deliver_from(flight, &) }.any?
      end

      def deliver_from(flight)
        done = ->(index) { flight.future.ready?(index) }
        ready = @ordered ? flight.left.take_while(&done) : flight.left.select(&done)
        flight.left -= ready
        ready.each { |index| yield placed(flight.future[index], flight.offset), flight.offset + index }
        ready.any?
      end

      # A Failure has the index of its payload in the input, not in the batch.
      def placed(outcome, offset)
        Failure === outcome && offset.positive? ? outcome.with(index: outcome.index + offset) : outcome
      end

      # For the oldest batch; not long where there is something else that may come first. Interrupts a payload that runs in this
      # thread when the time is up.
      def wait
        flight = @flights.first
        pause = ChunkReader::LINGER_SECONDS if (@reader.open? && @flights.size < @ahead) || (!@ordered && @flights.size > 1)
        time_left
        Clock.within(@limit) do
          next flight.future.reach(flight.left.first, pause) if @ordered

          flight.future.move_beyond(flight.future.size - flight.left.size, pause)
        end
      end

      def time_left
        return unless @limit

        left = @limit - Clock.now
        raise TimeoutError, "not done after #{@timeout} s; payloads that had not begun are cancelled" if left <= 0

        left
      end
    end
  end
end
