# frozen_string_literal: true

require "guildhall/clock"
require "guildhall/error_boundary"

module Guildhall
  module Kafka
    class Runtime
      # Calls blocks at a time, in a thread of its own: they have to be short. Asleep while nothing is due.
      # @api private
      class Timer
        Entry = Data.define(:time, :block)
        WAKE_SECONDS = 0.1 # that the thread has to wake up and end, also past the deadline
        private_constant :Entry, :WAKE_SECONDS

        def initialize(&on_error)
          @entries = []
          @lock = Mutex.new
          @changed = ConditionVariable.new
          @on_error = on_error
          @closed = @calling = false
          start
        end

        # @return [Object, nil] a token for {#cancel}; nil: the timer is closed, and will not call it
        def after(seconds, &block)
          entry = Entry.new(time: Clock.now + seconds, block:)
          @lock.synchronize do
            return if @closed

            index = @entries.bsearch_index { |other| other.time > entry.time } || @entries.size
            @entries.insert(index, entry)
            @changed.signal if index.zero?
          end
          entry
        end

        # @param seconds [Numeric] between two calls
        def every(seconds, &block)
          after(seconds) do
            block.call
          ensure
            every(seconds, &block)
          end
        end

        def cancel(entry) = @lock.synchronize { @entries.delete_if { |other| other.equal?(entry) } }

        def include?(thread) = thread.equal?(@thread)

        # What is not due yet will not happen. Blocks until the job at hand has ended, or kills it at the deadline. What a job has raised is
        # not raised here.
        # @return [Boolean] whether the job has ended by itself
        def close(deadline)
          @lock.synchronize do
            @closed = true
            @changed.signal
          end
          ended = @thread.join(Clock.left(deadline, least: WAKE_SECONDS))
          @thread.kill unless ended
          !ended.nil?
        end

        private

        # If a job ends the thread (Thread.exit), a new thread continues.
        def start
          @lock.synchronize do # which the thread needs as well: it calls nothing before {#include?} knows it
            @thread = Thread.new do
              Thread.current.report_on_exception = false
              run
            rescue SignalException => error
              Thread.main.raise(error)
            ensure
              start if @calling && !@closed
            end
            @thread.name = "guildhall timer"
          end
        end

        def run
          while (entry = wait)
            @calling = true
            ErrorBoundary.run(->(error) { @on_error&.call(error) }) { entry.block.call }
            @calling = false
          end
        end

        def wait
          @lock.synchronize do
            until @closed
              first = @entries.first
              return @entries.shift if first && first.time <= Clock.now

              @changed.wait(@lock, first && Clock.left(first.time))
            end
          end
        end
      end
    end
  end
end
