# frozen_string_literal: true

require_relative "../document/list"
require_relative "../document/map"

module Guildhall
  class Pool
    # Cuts the payloads of a source into chunks: an Array directly, any other Enumerable by a thread that reads ahead, so that a
    # slow source delays no result. Holds two chunks at most.
    # @api private
    class ChunkReader
      LINGER_SECONDS = 0.01 # how long the first payload of a chunk waits for others
      LOOK_SECONDS = 0.5 # how often to look whether the process is still the same

      # @return [Array, nil] nil: it has to be read
      def self.in_memory(payloads)
        case payloads
        when Array then payloads
        when Document::List then payloads.elements
        when Hash, Document::Map then payloads.map { |pair| pair.freeze } # rubocop:disable Style/SymbolProc -- which would take the key alone
        when Set, Struct then payloads.to_a
        when Range then payloads.to_a if payloads.begin.is_a?(Integer) && payloads.end.is_a?(Integer) && payloads.size <= MAX_RANGE_PAYLOADS
        when Enumerable then nil
        else raise Guildhall::ArgumentError, "payloads must be an Array or another Enumerable (an IO, an Enumerator), not #{payloads.class}"
        end
      end

      def self.array(payloads)
        in_memory(payloads) || payloads.to_a
      end

      MAX_RANGE_PAYLOADS = 1_000_000
      private_constant :MAX_RANGE_PAYLOADS, :LOOK_SECONDS

      def initialize(payloads, chunk)
        @payloads = payloads
        @chunk = chunk
        list = ChunkReader.in_memory(payloads)
        @buffer = list ? list.dup : []
        @ended = !list.nil?
        @lock = Mutex.new
        @changed = ConditionVariable.new
        @generation = Pool.fork_generation
        start unless @ended
      end

      # Ends the thread with its owner, which this must not refer to: an Enumerator that is dropped half-way never comes to {#stop}.
      def belong_to(owner)
        ObjectSpace.define_finalizer(owner, ChunkReader.finalizer(@thread)) if @thread
      end

      # Called wherever the collector happens to run: neither locks nor waits.
      def self.finalizer(thread) = ->(_) { thread.kill }

      # @return [Array, nil] payloads; empty: none yet; nil: there are no more
      def take(wait:, timeout: nil)
        return hand_out if @ended # in a trap, too, where nothing can be locked

        check_process
        limit = Clock.deadline(timeout)
        @lock.synchronize do
          pause(limit) until due? || !wait || (limit && Clock.now >= limit)
          due? ? hand_out : []
        end
      end

      attr_reader :error # what the source raised, behind the payloads; nil: nothing

      def open? = !@ended

      def stop
        @thread&.kill&.join(1)
      end

      private

      # The mask keeps a kill from ending the thread before `read` can set `@ended`, for which a reader would wait for ever.
      def start
        @thread = Thread.handle_interrupt(Object => :never) { Thread.new { read } }
        @thread.report_on_exception = false
        @thread.name = "guildhall chunk reader"
      end

      def due?
        @ended || @buffer.size >= @chunk || (!@buffer.empty? && Clock.now - @since >= LINGER_SECONDS)
      end

      # A trap handler may fork meanwhile, and this go on in the child, where no thread reads.
      def pause(limit)
        left = limit && Clock.left(limit)
        @changed.wait(@lock, [left, @buffer.empty? ? LOOK_SECONDS : LINGER_SECONDS].compact.min)
        check_process
      end

      def check_process
        return if @generation == Pool.fork_generation

        raise PoolClosedError, "this stream belongs to the process before the fork, and is read there"
      end

      def hand_out
        @changed.broadcast
        @buffer.shift(@chunk) unless @ended && @buffer.empty?
      end

      def read
        @error = TaskError.new("the thread that read the payloads was ended")
        Thread.handle_interrupt(Object => :immediate) { @payloads.each_entry { |payload| @lock.synchronize { add(payload) } } }
        @error = nil
      rescue Exception => error # rubocop:disable Lint/RescueException -- it is raised to who reads the chunks
        @error = error
      ensure
        @lock.synchronize do
          @ended = true
          @changed.broadcast
        end
      end

      def add(payload)
        @changed.wait(@lock) while @buffer.size >= 2 * @chunk
        @since = Clock.now if @buffer.empty?
        @buffer << payload
        @changed.broadcast if @buffer.size == 1 || @buffer.size == @chunk
      end
    end
  end
end
